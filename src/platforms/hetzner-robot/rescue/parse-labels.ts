/**
 * Parses the output of our scripts: lines of a label and, after one space, a value up to the end of the line. Values
 * are untrusted, as their sources are, and are never executed.
 */
export type LabeledLines = readonly (readonly [label: string, value: string])[];

export function parseLabels(text: string): LabeledLines {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const at = line.indexOf(' ');
      return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)];
    });
}

/** The first value of a label; empty: there is none. */
export const labeledValue = (lines: LabeledLines, label: string): string =>
  lines.find(([name]) => name === label)?.[1] ?? '';

export const labeledValues = (lines: LabeledLines, label: string): string[] =>
  lines.filter(([name]) => name === label).map(([, value]) => value);
