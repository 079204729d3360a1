import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { ClusterConfig } from '../../api/cluster-config.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { listSelectedPublications } from './selected-publications.ts';

const sample = parseAllDocuments(readFileSync('config/samples/truenas.yaml', 'utf8'))
  .map((document) => document.toJS() as ProviderConfig)
  .find(({ kind }) => kind === 'ProviderConfig') as ProviderConfig;
const section = { namespace: 'fleet', clusterRole: 'view' };

/** The forms of a Cluster with these ClusterConfigs, each as its value of `publish.enabled`. */
function formsOf(publish: object | undefined, enabled: readonly (boolean | undefined | 'missing' | 'invalid')[] = []) {
  const { providerRef } = sample.spec;
  const config = { ...sample, metadata: { name: 'home' }, spec: { ...sample.spec, ...(publish ? { publish } : {}) } };
  const clusterConfigs = enabled.map((value, i): ClusterConfig | undefined => {
    if (value === 'missing') return undefined;
    const spec = value === 'invalid' ? { unknown: true } : { publish: { enabled: value } };
    return { ...config, kind: 'ClusterConfig', metadata: { name: `${i}` }, spec } as unknown as ClusterConfig;
  });
  const services = {
    ...{ environment: 'test', provider: providerRef['name'], namespace: 'openmcp-system' },
    stores: {
      providerConfigs: { list: () => [config] },
      clusterConfigs: { get: ({ name }: { name: string }) => clusterConfigs[Number(name)] },
    },
  } as unknown as Parameters<typeof listSelectedPublications>[0];
  const cluster = {
    metadata: { namespace: 'shop', name: 'main', uid: 'uid' },
    spec: {
      profile: `test.${providerRef['name']}.home`,
      clusterConfigs: enabled.map((_, i) => ({ name: `${i}` })),
    },
  } as unknown as Cluster;
  return listSelectedPublications(services, cluster)?.map(({ form }) => form);
}

const all = { kubeconfigSecret: section, argoCD: section };

describe('the forms of a Cluster', () => {
  it.each([
    ['there are none without spec.publish', undefined, [], []],
    ['nor without a section', {}, [], []],
    ['All includes it without ClusterConfigs', all, [], ['kubeconfigSecret', 'argoCD']],
    ['and with one that says nothing', all, [undefined], ['kubeconfigSecret', 'argoCD']],
    ['its owner can say no', all, [false], []],
    ['Selected does not include it', { ...all, clusters: 'Selected' }, [], []],
    ['its owner can say yes', { ...all, clusters: 'Selected' }, [true], ['kubeconfigSecret', 'argoCD']],
    ['the last ClusterConfig that says something counts', all, [true, false, undefined], []],
    ['a missing ClusterConfig leaves everything as it is', all, ['missing'], undefined],
    ['and so does an invalid one', all, ['invalid'], undefined],
    ['and an invalid ProviderConfig', { argoCD: { namespace: 'fleet' } }, [], undefined],
  ] as const)('%s', (_, publish, enabled, forms) => {
    expect(formsOf(publish, enabled)).toEqual(forms);
  });
});
