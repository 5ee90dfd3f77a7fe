import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // What is waited for comes on a busy machine too, only later.
    expect: { poll: { timeout: 20_000 } },
    pool: "forks",
    globalSetup: ["test/support/postgres/global-setup.ts"],
  },
});
