import type { KubeClient } from '../../../../kube/client/client.ts';
import { minorDistance } from '../versions.ts';

/** A version of an API that clients have requested and that a later Kubernetes does not have. */
export interface DeprecatedApi {
  /** `group/version resource`, e.g. `flowcontrol.apiserver.k8s.io/v1beta3 flowschemas`. */
  readonly api: string;
  /** The minor that removes it. */
  readonly removedIn: string;
}

/** Counts since the API server has started, one series for each API that was requested at least once. */
const metric = 'apiserver_requested_deprecated_apis{';
/** An API server has some tens of thousands of series. */
const maxLines = 500_000;
const maxLineLength = 4096;
const maxApis = 100;
const label = /(group|version|resource|subresource|removed_release)="([^"\\]{0,253})"/g;

/** The API of one line of the metrics; undefined for every other line. */
export function parseDeprecatedApi(line: string): DeprecatedApi | undefined {
  if (!line.startsWith(metric) || line.length > maxLineLength) return undefined;
  const labels = new Map([...line.matchAll(label)].map(([, name = '', value = '']) => [name, value]));
  const [removedIn = '', version = '', resource = ''] = ['removed_release', 'version', 'resource'].map((name) =>
    labels.get(name),
  );
  if (!/^\d+\.\d+$/.test(removedIn) || version === '' || resource === '') return undefined;
  const group = labels.get('group');
  const subresource = labels.get('subresource');
  return { api: `${group ? `${group}/` : ''}${version} ${resource}${subresource ? `/${subresource}` : ''}`, removedIn };
}

/**
 * The APIs that were requested from one API server since it has started, and that the version `to` does not have. An API
 * server that serves them knows their last minor.
 */
export async function readDeprecatedApis(
  client: Pick<KubeClient, 'scanLines'>,
  to: string,
  signal: AbortSignal,
): Promise<DeprecatedApi[]> {
  const found = new Map<string, DeprecatedApi>();
  let lines = 0;
  const take = (line: string): void => {
    lines += 1;
    if (lines > maxLines) throw new Error('The metrics of the API server have too many lines.');
    const api = parseDeprecatedApi(line);
    if (api && minorDistance(`${api.removedIn}.0`, to) >= 0 && found.size < maxApis) found.set(api.api, api);
  };
  await client.scanLines('/metrics', take, signal);
  return [...found.values()].sort((a, b) => (a.api < b.api ? -1 : 1));
}
