import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine } from '../../../../test/support/fixtures/builders.ts';
import { clusterIdentityAnnotations } from '../../../api/cluster-identity.ts';
import type { Machine } from '../../../api/machine.ts';
import { annotations } from '../../../api/names.ts';
import type { Cluster } from '../../../api/openmcp/types.ts';
import type { Secret as KubeSecret } from '../../../kube/core-types.ts';
import { createSecretsBundle } from '../../../talos/secrets/secrets-bundle.ts';
import { formatSecretsBundle } from '../../../talos/secrets/secrets-bundle-file.ts';
import { clusterIdentityOf } from '../../cluster/identity.ts';
import { clusterRecordKey } from './cluster-record.ts';
import { readClusterSecrets, secretsBundleKey } from './cluster-secrets.ts';
import { assessClusterSecrets, requireClusterSecrets } from './cluster-secrets-state.ts';

const place = 'openmcp-system/prod-talos';
const now = new Date('2026-11-21T09:00:00Z');
const text = formatSecretsBundle(await createSecretsBundle({ now, serviceAccountKeyBits: 2048 })).reveal();

const secretOf = (notes: Record<string, string> = {}, data = text): KubeSecret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: {
    name: 'prod-talos',
    annotations: { ...clusterIdentityAnnotations(clusterIdentityOf(aCluster())), ...notes },
  },
  data: { [secretsBundleKey]: Buffer.from(data).toString('base64') },
});
const { talosCa } = readClusterSecrets(secretOf());

const recording = (status: Partial<NonNullable<Cluster['status']>>): Cluster => ({
  ...aCluster(),
  status: { observedGeneration: 1, phase: '', ...status },
});
const recorded = (record: unknown): Cluster => recording({ providerStatus: { [clusterRecordKey]: record } });

const evaluate = (object: KubeSecret | undefined, cluster = aCluster(), machines: readonly Machine[] = []) =>
  assessClusterSecrets({ object, secretRef: place, cluster, machines });

const joined: Machine = {
  ...aMachine(),
  status: {
    ...aMachine().status!,
    conditions: [{ ...aCondition('Joined'), lastTransitionTime: '2026-11-21T10:00:00Z' }],
    progress: { ...aMachine().status!.progress!, facts: { joined: true } },
  },
};

describe('a missing Secret', () => {
  it('may be created while nothing else of the cluster exists', () => {
    expect(evaluate(undefined)).toEqual({ kind: 'none' });
    const refused = recording({ providerStatus: { machines: [], controlPlanes: 0, platform: 'truenas' } });
    expect(evaluate(undefined, refused)).toEqual({ kind: 'none' });
  });

  it.each<[string, Cluster, readonly Machine[], RegExp]>([
    ['a Machine', aCluster(), [aMachine()], /Machines exist \(prod-[a-z2-7]{8}-cp-0\)/],
    ['a record in its status', recorded({ talosCa }), [], /its status records/],
    ['an unreadable record', recorded('spoilt'), [], /its status records/],
    [
      'a status of a version without records',
      recording({ providerStatus: { kubernetesVersion: '1.35.4' } }),
      [],
      /records/,
    ],
    ['an endpoint', recording({ endpoints: [{ name: 'any', url: 'https://a' }] }), [], /its status has an endpoint/],
    ['an address', recording({ apiServer: 'https://a' }), [], /its status has an endpoint/],
  ])('is a problem if there is %s', (_, cluster, machines, words) => {
    const state = evaluate(undefined, cluster, machines);
    expect(state).toMatchObject({ kind: 'unusable', problem: { reason: 'SecretsMissing' } });
    const message = state.kind === 'unusable' ? state.problem.message : '';
    expect(message).toMatch(words);
    expect(message).toContain(`Secret ${place} does not exist`);
    expect(message).toMatch(/Restore the Secret from a backup.*delete this Cluster/);
    expect(() => requireClusterSecrets(state, place)).toThrow(message);
  });

  it('is reported with a few of many Machines', () => {
    const many = [0, 1, 2, 3, 4].map((slot) => aMachine(slot));
    expect(JSON.stringify(evaluate(undefined, aCluster(), many))).toMatch(/cp-2 and 2 more\)/);
  });
});

describe('an existing Secret', () => {
  it('is not used if the record has another CA, and both are named', () => {
    const state = evaluate(secretOf(), recorded({ talosCa: 'f'.repeat(64) }));
    expect(state).toMatchObject({ kind: 'unusable', problem: { reason: 'SecretsDiffer' } });
    expect(JSON.stringify(state)).toContain(`begins with ${talosCa.slice(0, 16)}, that of this cluster with ffff`);
    expect(() => requireClusterSecrets(state, place)).toThrow('secrets of another cluster');
  });

  it('is not used if it has a Kubernetes CA from before its rotation', () => {
    const state = evaluate(secretOf(), recorded({ talosCa, kubernetesCa: 'f'.repeat(64) }));
    expect(state).toMatchObject({
      problem: { reason: 'SecretsDiffer', message: expect.stringContaining('Kubernetes CA') },
    });
  });

  it('may have either authority while one is rotated: the record may be older or newer', () => {
    const [next, other] = ['e'.repeat(64), 'f'.repeat(64)];
    expect(evaluate(secretOf(), recorded({ talosCa, otherCa: next }))).toMatchObject({ kind: 'usable' });
    expect(evaluate(secretOf(), recorded({ talosCa: next, otherCa: talosCa }))).toMatchObject({ kind: 'usable' });
    expect(evaluate(secretOf(), recorded({ talosCa: next, otherCa: other }))).toMatchObject({ kind: 'unusable' });
  });

  it('is not used if it is damaged', () => {
    expect(evaluate(secretOf({}, 'cluster: {}'))).toMatchObject({ problem: { reason: 'SecretsDamaged' } });
    const empty: KubeSecret = { ...secretOf(), data: {} };
    expect(evaluate(empty)).toMatchObject({ problem: { reason: 'SecretsDamaged' } });
  });

  it('from a backup is completed by the record of the same bundle', () => {
    const record = {
      talosCa,
      kubernetesVersion: '1.35.4',
      nodePrefix: 'web',
      endpoint: 'https://192.0.2.7:6443',
      bootstrapMachine: 'one',
      bootstrapRequest: 'boot 1.0',
      bootstrappedAt: '2026-11-21T09:30:00.000Z',
    };
    const { secrets } = evaluate(secretOf(), recorded(record)) as { secrets: object };
    expect(secrets).toMatchObject(record);
  });

  it('has priority over the record', () => {
    const notes = { [annotations.bootstrapMachine]: 'two' };
    expect(evaluate(secretOf(notes), recorded({ talosCa, bootstrapMachine: 'one' }))).toMatchObject({
      secrets: { bootstrapMachine: 'two' },
    });
  });

  it('from a backup belongs to a bootstrapped cluster if a Machine has joined, or the Cluster is Bootstrapped', () => {
    expect(evaluate(secretOf(), aCluster(), [joined])).toMatchObject({
      secrets: { bootstrappedAt: '2026-11-21T10:00:00Z' },
    });
    const messages = recording({ conditions: [aCondition('Bootstrapped')] });
    expect(evaluate(secretOf(), messages)).toMatchObject({ secrets: { bootstrappedAt: '2026-11-21T09:00:00Z' } });
    const denied = recording({ conditions: [aCondition('Bootstrapped', 'False')] });
    expect(evaluate(secretOf(), denied, [aMachine()])).toMatchObject({ secrets: { bootstrappedAt: undefined } });
  });

  it('of another Cluster is not used, and does not count as missing', () => {
    const other = { ...secretOf(), metadata: { name: 'prod-talos', annotations: {} } };
    expect(evaluate(other, recorded({ talosCa }), [aMachine()])).toMatchObject({
      problem: { reason: 'NameCollision' },
    });
  });
});
