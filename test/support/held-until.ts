/**
 * Keeps what comes, so that how many are open at a time shows however slow the machine is: all that are open go on when `count` are
 * and no other has come for a moment, or when fewer are and none comes for long, as at the end.
 */
export function heldUntil(count: number) {
  let open: (() => void)[] = [];
  let most = 0;
  let timer: NodeJS.Timeout | undefined;
  const goOn = () => {
    const all = open;
    open = [];
    for (const one of all) one();
  };
  return {
    take(one: () => void): void {
      open.push(one);
      most = Math.max(most, open.length);
      clearTimeout(timer);
      timer = setTimeout(goOn, open.length < count ? 1_000 : 50);
    },
    /** The most that were open at a time. */
    most: () => most,
  };
}
