import { describe, expect, test } from 'vitest';
import { chartValues } from '../setup/chart-values.ts';
import { chart } from './rendered-chart.ts';
import { readProjectFile } from './source-tree.ts';

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: unknown;
}

/** Every path of a schema that has no named parts. */
const leavesOf = (schema: Schema, path: readonly string[] = []): string[] =>
  schema.properties
    ? Object.entries(schema.properties).flatMap(([name, part]) => leavesOf(part, [...path, name]))
    : [path.join('.')];

/** Parts of a schema with named properties that also accept other names. */
const openParts = (schema: Schema, path = ''): string[] =>
  schema.properties
    ? [
        ...(schema.additionalProperties === false ? [] : [path]),
        ...Object.entries(schema.properties).flatMap(([name, part]) => openParts(part, `${path}.${name}`)),
      ]
    : [];

const schema = JSON.parse(readProjectFile(`${chart}/values.schema.json`)) as Schema;
const values = chartValues(readProjectFile(`${chart}/values.yaml`));
const leaves = values.filter(({ fallback }) => fallback !== undefined);

describe('the values of the chart', () => {
  test('and the schema have the same names, in the same order', () => {
    // Helm passes it to charts that others depend on.
    const inSchema = leavesOf(schema).filter((path) => path !== 'global');
    expect(inSchema).toEqual(leaves.map(({ path }) => path));
  });

  test('are checked for unknown names, in every part', () => {
    expect(openParts(schema)).toEqual([]);
  });

  test('are described, each by itself or by the block that it is in', () => {
    const described = new Set(values.filter(({ comment }) => comment !== '').map(({ path }) => path));
    const blockOf = (path: string) => path.slice(0, path.lastIndexOf('.'));
    expect(leaves.filter(({ path }) => !described.has(path) && !described.has(blockOf(path)))).toEqual([]);
  });
});

test('chartValues reads blocks, defaults and the comment above each value', () => {
  const text = `# About the file.

# One.
one: 1
# A block.
block:
  # Two.
  two: [a]
  three: ""
# A map of Kubernetes.
map:
  cpu: 50m
four: {}
`;
  expect(chartValues(text)).toEqual([
    { path: 'one', fallback: '1', comment: 'One.' },
    { path: 'block', fallback: undefined, comment: 'A block.' },
    { path: 'block.two', fallback: '["a"]', comment: 'Two.' },
    { path: 'block.three', fallback: '""', comment: '' },
    { path: 'map', fallback: '{"cpu":"50m"}', comment: 'A map of Kubernetes.' },
    { path: 'four', fallback: '{}', comment: '' },
  ]);
});
