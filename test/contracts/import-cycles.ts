/** The strongly connected components of more than one node, each sorted, in the order of their first nodes (Tarjan 1972). */
export function findCycles(
  nodes: readonly string[],
  edgesOf: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const known = new Set(nodes);
  const index = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  const visit = (node: string): number => {
    index.set(node, index.size);
    let lowest = index.size - 1;
    stack.push(node);
    for (const next of edgesOf(node).filter((one) => known.has(one))) {
      if (!index.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, index.get(next) ?? lowest);
    }
    if (lowest === index.get(node)) {
      const component = stack.splice(stack.indexOf(node));
      if (component.length > 1) cycles.push(component.sort());
    }
    return lowest;
  };

  for (const node of nodes) if (!index.has(node)) visit(node);
  return cycles.sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
