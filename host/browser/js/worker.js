// Runs in a worker before its script. What stands in names is defined anew, for
// good, because the browser adds some of it just before the script starts.
(names) => {
  for (const name of names) Object.defineProperty(globalThis, name, { value: undefined });
}
