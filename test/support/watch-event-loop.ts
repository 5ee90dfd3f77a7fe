/**
 * Watches how long the event loop is held in one go, from now on. Of a turn's time, what the process did not run in is not counted:
 * the machine may be busy with others.
 *
 * @returns ends it, and gives the longest in milliseconds
 */
export function watchEventLoop(): () => number {
  let longest = 0;
  let isOver = false;
  let since = performance.now();
  let used = process.cpuUsage();
  const turn = () => {
    const { user, system } = process.cpuUsage(used);
    longest = Math.max(longest, Math.min(performance.now() - since, (user + system) / 1_000));
    since = performance.now();
    used = process.cpuUsage();
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
    turn();
    return longest;
  };
}
