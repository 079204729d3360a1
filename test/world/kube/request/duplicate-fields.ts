/** Finds duplicate fields in JSON text; `JSON.parse` silently uses the last one. Returns their paths. */
export function findDuplicateFields(text: string): string[] {
  const found: string[] = [];
  const stack: { readonly path: string; readonly seen: Set<string> | undefined; index: number }[] = [];
  let path = '';
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\],]/g)) {
    const top = stack.at(-1);
    const here = top && !top.seen ? `${top.path}[${top.index}]` : path;
    if (token === '{') stack.push({ path: here, seen: new Set(), index: 0 });
    else if (token === '[') stack.push({ path: here, seen: undefined, index: 0 });
    else if (token === '}' || token === ']') stack.pop();
    else if (token === ',') {
      if (top) top.index += 1;
    } else if (token.endsWith(':') && top?.seen) {
      const name = String(JSON.parse(token.replace(/\s*:$/, '')));
      path = top.path ? `${top.path}.${name}` : name;
      if (top.seen.has(name)) found.push(path);
      top.seen.add(name);
    }
  }
  return found;
}
