/**
 * Limits on the size of patches. Processing patches takes time, and all Clusters wait meanwhile. Whole manifests, which
 * are strings, fit within the limits.
 */
export const patchLimits = {
  /** Characters of all keys and strings of one patch. */
  characters: 256 * 1024,
  /** Keys and list elements of one patch, at any depth. */
  values: 2500,
  /** Nesting depth of maps and lists. */
  depth: 20,
  /** Characters of one key: the longest key of an annotation. */
  keyCharacters: 317,
  /** Characters of all patches of a ProviderConfig and the ClusterConfigs of a Cluster, for all roles of its nodes. */
  charactersInAll: 8 * 1024 * 1024,
  valuesInAll: 30_000,
} as const;

export interface PatchSize {
  readonly characters: number;
  readonly values: number;
}

/** The size of a patch, or why it is too large, as the end of a sentence. */
export function measurePatch(patch: unknown): PatchSize | { readonly tooMuch: string } {
  const size = { characters: 0, values: 0 };
  const open: PatchPart[] = [{ value: patch, depth: 0 }];
  for (let part = open.pop(); part; part = open.pop()) {
    const tooMuch = measurePart(part, size, open);
    if (tooMuch) return { tooMuch };
  }
  return size;
}

interface PatchPart {
  readonly value: unknown;
  /** Number of enclosing maps and lists. */
  readonly depth: number;
}

function measurePart(
  { value, depth }: PatchPart,
  size: { characters: number; values: number },
  open: PatchPart[],
): string | undefined {
  if (typeof value === 'string') size.characters += value.length;
  const inner = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  for (const [key, one] of inner) {
    size.values += 1;
    size.characters += key.length;
    open.push({ value: one, depth: depth + 1 });
  }
  const { characters, values, keyCharacters } = patchLimits;
  if (inner.length > 0 && depth >= patchLimits.depth) return `has more than ${patchLimits.depth} levels`;
  if (inner.some(([key]) => key.length > keyCharacters)) return `has a key of more than ${keyCharacters} characters`;
  if (size.values > values) return `has more than ${values} keys and elements`;
  return size.characters > characters ? `has more than ${characters / 1024} KiB of text` : undefined;
}
