import { describe, expect, it } from 'vitest';
import { aCluster, aMachine } from '../../../test/support/fixtures/builders.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { clusterIdentityAnnotations } from '../../api/cluster-identity.ts';
import type { Machine } from '../../api/machine.ts';
import type { Cluster } from '../../api/openmcp/types.ts';
import type { Secret } from '../../kube/core-types.ts';
import { systemClock } from '../../lib/clock.ts';
import { formatSecretsBundle } from '../../talos/secrets/secrets-bundle-file.ts';
import { clusterRecordKey, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import { readClusterSecrets, secretsBundleKey } from '../shared/secrets/cluster-secrets.ts';
import type { Services } from '../shared/services.ts';
import { clusterIdentityOf } from './identity.ts';
import type { ClusterView } from './view.ts';
import { refetchSecrets, writeClusterRecord } from './write-cluster-record.ts';

const data = {
  [secretsBundleKey]: Buffer.from(formatSecretsBundle(await exampleSecretsBundle()).reveal()).toString('base64'),
};
const ref = clusterIdentityOf(aCluster());
const marks = clusterIdentityAnnotations(ref);
const secret: Secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'any', namespace: 'us', annotations: marks },
  data,
};
const signal = AbortSignal.timeout(10_000);

interface Live {
  readonly object?: Secret;
  readonly cluster?: Cluster | undefined;
  readonly machines?: readonly Machine[];
}

/** A view of caches that contain only the Cluster, with an API server that has more. */
async function seek(live: Live, cached: Partial<ClusterView> = {}): Promise<ClusterView> {
  const find = async ({ kind }: { kind: string }) =>
    kind === 'Secret' ? live.object : 'cluster' in live ? live.cluster : aCluster();
  const kube = { find, list: async () => ({ items: live.machines ?? [] }) };
  const services = { namespace: 'us', kube } as unknown as Services;
  const view = { cluster: aCluster(), ref, machines: [], ...cached } as unknown as ClusterView;
  return await refetchSecrets(services, view, signal);
}

describe('before secrets are created, the API server is asked', () => {
  it('and permits them if nothing of the cluster exists', async () => {
    expect(await seek({})).toMatchObject({ searched: true, secrets: undefined, secretsProblem: undefined });
  });

  it('for the Secret, which the cache may lack', async () => {
    expect(await seek({ object: secret })).toMatchObject({
      secrets: { talosCa: readClusterSecrets(secret).talosCa },
      secretsProblem: undefined,
    });
  });

  it('for Machines and the status, which the cache may lack', async () => {
    const missing = { secrets: undefined, secretsProblem: { reason: 'SecretsMissing' } };
    expect(await seek({ machines: [aMachine()] })).toMatchObject(missing);
    const status = { observedGeneration: 1, phase: '', providerStatus: { [clusterRecordKey]: {} } };
    expect(await seek({ cluster: { ...aCluster(), status } })).toMatchObject(missing);
  });

  it('and Machines that only the cache has count as well', async () => {
    expect(await seek({}, { machines: [aMachine()] })).toMatchObject({ secretsProblem: { reason: 'SecretsMissing' } });
  });

  it.each([
    ['gone', undefined],
    ['another one of the same name', aCluster({}, { uid: 'other' })],
  ])('and nothing happens for a Cluster that is %s', async (_, cluster) => {
    await expect(seek({ cluster })).rejects.toMatchObject({ code: 'CLUSTER_CHANGED' });
  });
});

describe('the record of a cluster', () => {
  /** The writes in order: annotations of the Secret, status of the Cluster. */
  async function write(cluster: Cluster, notes: Record<string, string> = {}) {
    const written: unknown[] = [];
    const merge = async ({ kind }: { kind: string }, _: unknown, patch: Record<string, object>) => {
      written.push({ kind, patch });
      return kind === 'Secret'
        ? { ...secret, metadata: { ...secret.metadata, ...patch['metadata'] } }
        : { ...cluster, ...patch };
    };
    const services = { namespace: 'us', kube: { merge }, clock: systemClock } as unknown as Services;
    const object = { ...secret, metadata: { ...secret.metadata, annotations: { ...marks, ...notes } } };
    const secrets = { ...readClusterSecrets(object), bootstrapMachine: 'one', kubernetesVersion: '1.35.4' };
    const view = { cluster, ref, machines: [], secrets } as unknown as ClusterView;
    return { written, view: await writeClusterRecord(services, view, signal) };
  }

  it('is written to the Secret first, then to the status, which is complete if it is the first one', async () => {
    const { written, view } = await write(aCluster());
    expect(written).toMatchObject([
      { kind: 'Secret', patch: { metadata: { annotations: expect.objectContaining({}) } } },
      { kind: 'Cluster', patch: { status: { phase: 'Progressing', observedGeneration: 1 } } },
    ]);
    expect(view.cluster.status?.conditions?.map(({ type }) => type)).toContain('Ready');
    expect(view.secrets && toClusterRecord(view.secrets)).toEqual(
      view.cluster.status?.providerStatus?.[clusterRecordKey],
    );
    expect(view.recorded).toBe(JSON.stringify(view.cluster.status?.providerStatus?.[clusterRecordKey]));
  });

  it('leaves all other fields of the status unchanged', async () => {
    const status = { observedGeneration: 1, phase: 'Ready', providerStatus: { workers: 3 } };
    const { written } = await write({ ...aCluster(), status });
    const [, last] = written as { patch: { status: object } }[];
    expect(last?.patch.status).toEqual({ providerStatus: { [clusterRecordKey]: expect.anything() } });
  });
});
