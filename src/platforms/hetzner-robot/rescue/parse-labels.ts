/**
 * What our scripts answer: lines of a word and, behind one space, a value that goes to the end of the line. Values are as
 * hostile as what they come from; nothing in them is ever run.
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
