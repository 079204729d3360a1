import { isMap, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { formatTable } from './markdown-table.ts';

/** A value of the chart: a leaf, or a block of values. A map without comments inside is a leaf: its fields are Kubernetes'. */
export interface ChartValue {
  /** From the root, e.g. `image.tag`. */
  readonly path: string;
  /** As JSON. A block has none. */
  readonly fallback: string | undefined;
  /** The comment above it; empty if there is none. */
  readonly comment: string;
}

type Entry = Pair<Scalar<string>, unknown>;

/** Every value of `values.yaml` in its order, with the comment that belongs to it. */
export function chartValues(text: string): readonly ChartValue[] {
  const document = parseDocument(text);
  if (!isMap(document.contents)) throw new Error('values.yaml is not a map.');
  return valuesOf(document.contents, [], document.commentBefore ?? undefined);
}

function valuesOf(map: YAMLMap, above: readonly string[], first: string | undefined): ChartValue[] {
  // The parser attaches the comment of the first entry to the map, or to the document.
  const firstComment = map.commentBefore ?? first;
  return (map.items as Entry[]).flatMap((entry, index) => {
    const path = [...above, entry.key.value];
    const comment = lastParagraph(entry.key.commentBefore ?? (index === 0 ? firstComment : undefined) ?? '');
    const parts = isMap(entry.value) ? valuesOf(entry.value, path, undefined) : [];
    const isBlock = parts.some((part) => part.comment !== '');
    const fallback = isBlock ? undefined : JSON.stringify((entry.value as { toJSON(): unknown }).toJSON());
    const own: ChartValue = { path: path.join('.'), fallback, comment };
    return isBlock ? [own, ...parts] : [own];
  });
}

/** An empty line separates a comment about the whole file from that of the next value. */
const lastParagraph = (comment: string): string =>
  (comment.split(/\n\s*\n/).at(-1) ?? '')
    .split('\n')
    .map((line) => line.trim())
    .join(' ')
    .trim();

/** The table of the chart's README. */
export const chartValueTable = (text: string): string =>
  formatTable(
    ['Value', 'Default', 'Meaning'],
    chartValues(text).map(({ path, fallback, comment }) => [
      `\`${path}\``,
      fallback === undefined ? '' : `\`${fallback}\``,
      // GitHub would take <name> for a tag.
      comment.replace(/(`[^`]*`)|</g, (match, code) => code ?? (match === '<' ? '&lt;' : match)),
    ]),
  );
