import { describe, expect, it } from 'vitest';
import type { KubeClient } from '../../../../kube/client/client.ts';
import { parseDeprecatedApi, readDeprecatedApis } from './deprecated-apis.ts';

const series = (labels: string, value = 1) => `apiserver_requested_deprecated_apis{${labels}} ${value}`;
const flowSchemas = series(
  'group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"',
);
const endpoints = series('group="",removed_release="",resource="endpoints",subresource="",version="v1"');

describe('D14: the APIs that clients use and that a later Kubernetes does not have', () => {
  it('are read from the metric of the API server', () => {
    expect(parseDeprecatedApi(flowSchemas)).toEqual({
      api: 'flowcontrol.apiserver.k8s.io/v1beta3 flowschemas',
      removedIn: '1.32',
    });
  });

  it.each([
    ['another metric', 'apiserver_request_total{removed_release="1.32",version="v1",resource="a"} 1'],
    ['a comment', '# HELP apiserver_requested_deprecated_apis Gauge'],
    ['an API that no release removes', endpoints],
    ['a line without an end', `${flowSchemas.slice(0, -4)}${'x'.repeat(5000)}`],
  ])('do not include %s', (_, line) => {
    expect(parseDeprecatedApi(line)).toBeUndefined();
  });

  it('are those that the next version no longer has', async () => {
    const texts = [flowSchemas, endpoints, series('group="a",removed_release="1.40",resource="b",version="v1"')];
    const client: Pick<KubeClient, 'scanLines'> = {
      scanLines: async (_path, take) => {
        for (const line of texts) take(line);
      },
    };
    const read = (to: string) => readDeprecatedApis(client, to, new AbortController().signal);
    expect((await read('1.32.4')).map(({ removedIn }) => removedIn)).toEqual(['1.32']);
    expect(await read('1.31.9')).toEqual([]);
  });

  it('are not read from an endless answer', async () => {
    const client: Pick<KubeClient, 'scanLines'> = {
      scanLines: async (_path, take) => {
        for (;;) take('x 1');
      },
    };
    await expect(readDeprecatedApis(client, '1.32.4', new AbortController().signal)).rejects.toThrow(/too many lines/);
  });
});
