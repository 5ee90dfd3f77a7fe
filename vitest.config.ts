import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Far above what any takes by itself: a fresh embedded database alone may take half a minute on a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // What is waited for comes on a busy machine too, only later.
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    globalSetup: ["test/support/postgres/global-setup.ts"],
  },
});
