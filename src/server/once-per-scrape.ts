/**
 * Calls `list` once for all gauges of a scrape: the registry asks them in one turn of the event loop, before any promise
 * continues.
 */
export function oncePerScrape<T>(list: () => T): () => T {
  let current: { readonly value: T } | undefined;
  return () => {
    if (!current) {
      current = { value: list() };
      queueMicrotask(() => {
        current = undefined;
      });
    }
    return current.value;
  };
}
