import { execFileSync } from 'node:child_process';
import { expect } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { findPeer } from '../peers/find-peer.ts';

/** Folder of the chart. */
export const chart = 'charts/cluster-provider-talos';
// The tests read any field of any kind.
// biome-ignore lint/suspicious/noExplicitAny: rendered objects have no type of ours
export type Rendered = any;

/** The output of helm, or its error message. */
export function runHelm(...words: string[]): { text: string; refused: boolean } {
  try {
    const text = execFileSync(findPeer('helm') ?? 'helm', words, { encoding: 'utf8', stdio: 'pipe' });
    return { text, refused: false };
  } catch (error) {
    return { text: String((error as { stderr?: string }).stderr), refused: true };
  }
}

/** Arguments that set values, each as `name=JSON`. */
export const setValues = (values: readonly string[]): string[] => values.flatMap((value) => ['--set-json', value]);
/** `helm template` on a cluster that has the provider's kinds. */
export const renderChart = (...values: string[]) =>
  runHelm(
    'template',
    'talos',
    chart,
    '--namespace=openmcp-system',
    '--api-versions=talos.clusters.openmcp.cloud/v1alpha1',
    ...setValues(values),
  );

/** The objects of the release. */
export function chartObjects(...values: string[]): Rendered[] {
  const { text, refused } = renderChart(...values);
  expect(refused, text).toBe(false);
  return parseAllDocuments(text).flatMap((document) => document.toJS() ?? []);
}
/** The only object of a kind. */
export const onlyOne = (list: readonly Rendered[], kind: string): Rendered => {
  const found = list.filter((object) => object.kind === kind);
  expect(found, kind).toHaveLength(1);
  return found[0];
};
