import { describe, expect, it } from 'vitest';
import { aCluster, aCondition, aMachine, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { summarizeReady } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import { clusterRecordKey, toClusterRecord } from '../shared/secrets/cluster-record.ts';
import type { ClusterSecrets } from '../shared/secrets/cluster-secrets.ts';
import {
  decideCluster,
  decideKubernetesVersion,
  decideRequeueAfterSeconds,
  describeClusterConditions,
  findBootstrapCandidate,
} from './decide.ts';
import type { ClusterView } from './view.ts';

const secrets = (more: Partial<ClusterSecrets> = {}): ClusterSecrets => ({
  object: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } },
  bundle: {} as ClusterSecrets['bundle'],
  talosCa: 'a'.repeat(64),
  bootstrapMachine: undefined,
  bootstrapRequest: undefined,
  bootstrappedAt: undefined,
  endpoint: undefined,
  kubernetesVersion: '1.35.4',
  nodePrefix: undefined,
  trust: undefined,
  ...more,
});

const fixedEndpoint = { at: 'k8s.example.org:6443', field: 'controlPlane.endpoint' };
const endpoint = { url: 'https://192.168.10.20:6443', virtualAddress: '192.168.10.20' };
const provisioned = [aCondition('Provisioned')];
const ready = [aCondition('Provisioned'), aCondition('Joined'), aCondition('Ready')];
const three = (conditions = ready) => [0, 1, 2].map((slot) => aMachine(slot, conditions));

const view = (more: Partial<ClusterView> = {}): ClusterView => ({
  cluster: aCluster(),
  ref: { namespace: 'team', name: 'prod', uid: 'cluster-uid' },
  config: aProviderConfig(),
  spec: aSpec(),
  configMismatch: undefined,
  platform: 'truenas',
  addressing: { pool: 'main', endpoint: 'virtual-address' },
  fixedEndpoint: undefined,
  endpointHolder: undefined,
  secrets: undefined,
  secretsProblem: undefined,
  noAddress: undefined,
  endpoint: undefined,
  machines: [],
  bootstrap: undefined,
  proof: undefined,
  trust: undefined,
  trustRollout: undefined,
  recorded: more.secrets && JSON.stringify(toClusterRecord(more.secrets)),
  ...more,
});

const requesting = (version: string) => aCluster({ kubernetes: { version } });

describe('the next action for a Cluster', () => {
  it.each<[string, ClusterView, string]>([
    ['secrets come before everything that uses them', view(), 'create-secrets'],
    [
      'then the endpoint, because certificates and configurations name it',
      view({ secrets: secrets() }),
      'find-endpoint',
    ],
    [
      'then the machines, even if one of them provides the endpoint and its address is unknown',
      view({ secrets: secrets(), endpoint: { url: undefined, virtualAddress: undefined } }),
      'create-machines',
    ],
    ['then every missing machine', view({ secrets: secrets(), endpoint, machines: [aMachine(1)] }), 'create-machines'],
    [
      'nothing while no control plane runs its installed system',
      view({ secrets: secrets(), endpoint, machines: three([]) }),
      'settled',
    ],
    [
      'bootstrap as soon as one does',
      view({ secrets: secrets(), endpoint, machines: three(provisioned) }),
      'bootstrap',
    ],
    [
      'no second attempt in the same reconcile',
      view({ secrets: secrets(), endpoint, machines: three(provisioned), bootstrap: { done: false, message: 'x' } }),
      'settled',
    ],
    [
      'never again once members were observed',
      view({ secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three(provisioned) }),
      'prove',
    ],
    [
      'settled if the API server was probed',
      view({
        secrets: secrets({ bootstrappedAt: 'then' }),
        endpoint,
        machines: three(),
        proof: { ok: true, version: '1.35.4' },
      }),
      'settled',
    ],
    ['nothing if the version is not offered', view({ cluster: requesting('1.33.0') }), 'settled'],
  ])('%s', (_, given, expected) => {
    expect(decideCluster(given).kind).toBe(expected);
  });

  describe('the cluster record is written to both places before anything depends on it', () => {
    const known = secrets({ bootstrapMachine: 'one' });
    const recording = (record: unknown) => ({
      ...aCluster(),
      status: { observedGeneration: 1, phase: '', providerStatus: { [clusterRecordKey]: record } },
    });
    const noted = (annotations_: Record<string, string>): ClusterSecrets => ({
      ...known,
      object: { ...known.object, metadata: { ...known.object.metadata, annotations: annotations_ } },
    });
    const notes = { [annotations.kubernetesVersion]: '1.35.4', [annotations.bootstrapMachine]: 'one' };
    const unwritten = { recorded: undefined, endpoint, machines: three(provisioned) };

    it.each<[string, ClusterView, string]>([
      ['the status lacks it', view({ ...unwritten, secrets: noted(notes) }), 'record'],
      [
        'the status has fewer fields',
        view({ ...unwritten, secrets: noted(notes), cluster: recording({ talosCa: known.talosCa }) }),
        'record',
      ],
      [
        'the Secret lacks it',
        view({ ...unwritten, secrets: noted({}), cluster: recording(toClusterRecord(known)) }),
        'record',
      ],
      [
        'both have it',
        view({ ...unwritten, secrets: noted(notes), cluster: recording(toClusterRecord(known)) }),
        'bootstrap',
      ],
    ])('%s', (_, given, expected) => {
      expect(decideCluster(given).kind).toBe(expected);
    });
  });

  it('reads a Secret from the API server that only the cache lacks, and does nothing else if it is gone', () => {
    const problem = { reason: 'SecretsMissing', message: 'Put it back.' } as const;
    expect(decideCluster(view({ secretsProblem: problem, machines: [aMachine(1)], endpoint })).kind).toBe(
      'seek-secrets',
    );
    const gone = view({ secretsProblem: problem, machines: [aMachine(1)], endpoint, searched: true });
    expect(decideCluster(gone).kind).toBe('settled');
    const states = describeClusterConditions(gone);
    expect(summarizeReady(states)).toMatchObject({
      status: 'False',
      reason: 'SecretsMissing',
      message: 'Put it back.',
    });
    expect(states).toContainEqual(expect.objectContaining({ type: 'EndpointReachable', status: 'Unknown' }));
  });

  it('creates no secrets for a Cluster in deletion', () => {
    const cluster = aCluster({}, { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['others'] });
    expect(decideCluster(view({ cluster })).kind).toBe('settled');
  });

  it('creates only the missing machines', () => {
    const decision = decideCluster(view({ secrets: secrets(), endpoint, machines: [aMachine(1)] }));
    expect(decision.kind === 'create-machines' && decision.slots.map((slot) => slot.slot)).toEqual([0, 2]);
  });
});

describe('the machine on which etcd is bootstrapped', () => {
  it('P44: is always the chosen one, even if another one is ready and it is not', () => {
    const machines = [aMachine(0, provisioned), aMachine(1, [])];
    const [, second] = machines;
    const chosen = secrets({ bootstrapMachine: second!.metadata.name });
    expect(findBootstrapCandidate(view({ secrets: chosen, machines }))).toBeUndefined();
    expect(
      findBootstrapCandidate(view({ secrets: chosen, machines: [aMachine(0, provisioned), aMachine(1, provisioned)] }))
        ?.metadata.name,
    ).toBe(second!.metadata.name);
  });

  it('is never a worker and never in deletion', () => {
    const leaving = aMachine(0, provisioned);
    leaving.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    expect(
      findBootstrapCandidate(view({ secrets: secrets(), machines: [leaving, aMachine(0, provisioned, 'work')] })),
    ).toBeUndefined();
  });
});

describe('the Kubernetes version of a Cluster', () => {
  it.each<[string, ClusterView, unknown]>([
    ['is the newest offered one that is not deprecated by default', view(), { version: '1.35.4' }],
    ['is the requested one, deprecated or not', view({ cluster: requesting('1.34.1') }), { version: '1.34.1' }],
    ['is the newest patch of a minor version', view({ cluster: requesting('1.34') }), { version: '1.34.1' }],
    ['is the same with the prefix v', view({ cluster: requesting('v1.35') }), { version: '1.35.4' }],
    [
      'satisfies a minor version for good, whatever is offered later',
      view({ cluster: requesting('1.35'), secrets: secrets({ kubernetesVersion: '1.35.1' }) }),
      { version: '1.35.1' },
    ],
    ['can be requested with the prefix v', view({ cluster: requesting('v1.34.1') }), { version: '1.34.1' }],
    [
      'stays the one of the creation',
      view({ secrets: secrets({ kubernetesVersion: '1.34.1' }) }),
      { version: '1.34.1' },
    ],
  ])('%s', (_, given, expected) => {
    expect(decideKubernetesVersion(given)).toEqual(expected);
  });

  it.each<[string, ClusterView, string, RegExp]>([
    ['not offered', view({ cluster: requesting('1.33.0') }), 'VersionNotOffered', /1\.35\.4, 1\.34\.1/],
    ['of a minor version that is not offered', view({ cluster: requesting('1.3') }), 'VersionNotOffered', /1\.35\.4/],
    ['only the prefix v', view({ cluster: requesting('v') }), 'VersionNotOffered', /version: v is not offered/],
    [
      'C23: changed after the creation',
      view({ cluster: requesting('1.35.4'), secrets: secrets({ kubernetesVersion: '1.34.1' }) }),
      'VersionChangeRejected',
      /runs 1\.34\.1/,
    ],
    [
      'without a ProviderConfig',
      view({ config: undefined, spec: undefined }),
      'ProviderConfigMissing',
      /test\.talos\.home/,
    ],
    [
      'with a ProviderConfig that is not ready',
      view({
        config: aProviderConfig(aSpec(), { status: { observedGeneration: 1, phase: 'Progressing', conditions: [] } }),
      }),
      'ProviderConfigNotReady',
      /home/,
    ],
    [
      'with a changed ProviderConfig that was not checked yet',
      view({ config: aProviderConfig(aSpec(), { metadata: { name: 'home', generation: 2, uid: 'config-uid' } }) }),
      'ProviderConfigNotReady',
      /spec\.profile: .*home/,
    ],
    [
      'with ClusterConfigs that cannot be merged',
      view({
        spec: undefined,
        configMismatch: { reason: 'InvalidClusterConfig', message: 'ClusterConfig big, patches[0]: no' },
      }),
      'InvalidClusterConfig',
      /big, patches/,
    ],
    [
      'with an invalid prefix of node names',
      view({ cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'My Nodes' } }) }),
      'InvalidConfig',
      /node-prefix\]: My Nodes/,
    ],
    [
      'with a prefix that was added after the nodes were named',
      view({ cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'web' } }), secrets: secrets() }),
      'NameChangeRejected',
      /Remove it/,
    ],
    [
      'with a prefix that was changed',
      view({ secrets: secrets({ nodePrefix: 'web' }) }),
      'NameChangeRejected',
      /Put web back/,
    ],
    [
      'with the endpoint of another Cluster',
      view({ fixedEndpoint, endpointHolder: { namespace: 'other', name: 'first' } }),
      'EndpointInUse',
      /controlPlane\.endpoint.*other\/first/,
    ],
  ])('is rejected with a message: %s', (_, given, reason, text) => {
    const version = decideKubernetesVersion(given);
    expect(version).toHaveProperty('refused.reason', reason);
    expect('refused' in version && version.refused.message).toMatch(text);
  });
});

describe('the conditions of a Cluster', () => {
  it('are Ready only after a probe in this reconcile', () => {
    const almost = view({ secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three() });
    expect(
      describeClusterConditions(almost)
        .filter((state) => state.status !== 'True')
        .map((state) => state.type),
    ).toEqual(['EndpointReachable']);
    const proven = { ...almost, proof: { ok: true, version: '1.35.4' } as const };
    expect(describeClusterConditions(proven).every((state) => state.status === 'True')).toBe(true);
  });

  it('are not Ready if its secrets are damaged, which are not replaced', () => {
    const damaged = view({ secretsProblem: { reason: 'SecretsDamaged', message: 'Restore it.' }, machines: three() });
    expect(decideCluster(damaged).kind).toBe('settled');
    expect(describeClusterConditions(damaged)).toContainEqual(
      expect.objectContaining({
        type: 'SecretsReady',
        status: 'False',
        reason: 'SecretsDamaged',
        message: 'Restore it.',
      }),
    );
  });

  it('report an empty address pool, and everything else waits', () => {
    const left = view({ secrets: secrets(), noAddress: 'network.addressPool: add some.' });
    expect(decideCluster(left).kind).toBe('settled');
    expect(summarizeReady(describeClusterConditions(left))).toMatchObject({
      status: 'False',
      reason: 'AddressPoolExhausted',
      message: 'network.addressPool: add some.',
    });
  });

  it('report that its Secret belongs to another Cluster, with a retry in a minute and no other action', () => {
    const problem = { reason: 'NameCollision', message: 'Secret s belongs to Cluster other/first.' } as const;
    const barred = view({ secretsProblem: problem });
    expect(decideCluster(barred)).toEqual({ kind: 'settled' });
    const states = describeClusterConditions(barred);
    expect(summarizeReady(states)).toMatchObject(problem);
    expect(decideRequeueAfterSeconds(barred, states, { isConnected: false, now: new Date() })).toBe(60);
  });

  it('report a name collision of one of its machines, while the others are reconciled', () => {
    const taken = { nameTaken: 'Machine m exists and belongs to Cluster other/first.' };
    const short = {
      secrets: secrets({ bootstrappedAt: 'then' }),
      endpoint,
      machines: [0, 1].map((i) => aMachine(i, ready)),
    };
    const spec = aSpec((raw) => Object.assign(raw['controlPlane'] as object, { replicas: 3 }));
    expect(decideCluster(view({ spec, ...short })).kind).toBe('create-machines');
    expect(decideCluster(view({ spec, ...short, ...taken })).kind).toBe('prove');
    const proven = view({ spec, ...short, ...taken, proof: { ok: true, version: '1.35.4' } });
    expect(decideCluster(proven).kind).toBe('settled');
    const states = describeClusterConditions(proven);
    expect(summarizeReady(states)).toMatchObject({ reason: 'NameCollision', message: taken.nameTaken });
    expect(states).toContainEqual(expect.objectContaining({ type: 'EndpointReachable', status: 'True' }));
  });

  it('report the machines that are not ready, and why', () => {
    const machines = three();
    machines[2] = {
      ...aMachine(2),
      status: { ...aMachine(2).status!, message: 'await-talos-api: The node does not answer yet.' },
    };
    const state = describeClusterConditions(view({ secrets: secrets(), endpoint, machines })).find(
      (s) => s.type === 'MachinesReady',
    );
    expect(state?.message).toMatch(
      /^2 of 3 are ready\. prod-[a-z2-7]{8}-cp-2: await-talos-api: The node does not answer yet\.$/,
    );
  });
});

describe('surplus machines', () => {
  const one = { ...aSpec(), controlPlane: { ...aSpec().controlPlane, replicas: 1 } };
  const text = (machines: Machine[]) =>
    describeClusterConditions(view({ secrets: secrets(), endpoint, spec: one, machines })).find(
      ({ type }) => type === 'MachinesReady',
    );
  const surplus = /More machines than asked for: prod-[a-z2-7]{8}-cp-1\. To remove one, delete its Machine\./;

  it.each([
    ['ready', ready],
    ['not ready', provisioned],
  ])('are reported whether they are ready or not: %s', (_, conditions) => {
    expect(text([aMachine(0, ready), aMachine(1, conditions)])).toMatchObject({
      reason: 'SurplusMachines',
      message: expect.stringMatching(surplus),
    });
  });

  it('are reported beside the pending ones, and do not count', () => {
    const state = text([aMachine(0, provisioned), aMachine(1, ready)]);
    expect(state).toMatchObject({ reason: 'WaitingForMachines', message: expect.stringMatching(surplus) });
    expect(state?.message).toMatch(/^0 of 1 are ready\. prod-[a-z2-7]{8}-cp-0: [^.]+\. More/);
  });
});

describe('the requeue interval of a Cluster', () => {
  const now = new Date('2026-11-21T09:00:00Z');
  const made = { secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three() };
  const unresponsive = { ok: false, message: 'It does not answer.' } as const;
  /** An API server that has been silent for `seconds` after it had answered. */
  const silentFor = (seconds: number): ClusterView => {
    const lastTransitionTime = new Date(now.getTime() - seconds * 1000).toISOString();
    const conditions = [{ ...aCondition('EndpointReachable', 'False'), lastTransitionTime }];
    const status = {
      observedGeneration: 1,
      phase: 'Progressing',
      endpoints: [{ name: 'external', url: endpoint.url }],
      conditions,
    };
    return view({ ...made, cluster: { ...aCluster(), status }, proof: unresponsive });
  };
  const seconds = (given: ClusterView, isConnected = false): number =>
    decideRequeueAfterSeconds(given, describeClusterConditions(given), { isConnected: isConnected, now });

  it('is a minute if all is well, and short during creation', () => {
    expect(seconds(view({ ...made, proof: { ok: true, version: '1.35.4' } }))).toBe(60);
    expect(seconds(view({ ...made, proof: unresponsive }))).toBe(5);
  });

  it('is half an hour if all is well and the node watch is open', () => {
    const well = view({ ...made, proof: { ok: true, version: '1.35.4' } });
    expect(seconds(well, true)).toBe(1800);
    expect(seconds({ ...well, trustRollout: { done: 1, message: 'one after the other' } as never }, true)).toBe(3);
    expect(seconds(view({ ...made, proof: unresponsive }), true)).toBe(5);
    expect(seconds(view({ cluster: requesting('1.33.0') }), true)).toBe(60);
  });

  it('is a minute if only a change helps, and short for an endpoint that another Cluster may release', () => {
    expect(seconds(view({ cluster: requesting('1.33.0') }))).toBe(60);
    expect(seconds(view({ secrets: secrets(), noAddress: 'none left' }))).toBe(60);
    expect(seconds(view({ endpointHolder: { namespace: 'other', name: 'first' } }))).toBe(5);
  });

  it('grows while the API server is silent, up to half a minute', () => {
    expect([0, 40, 100, 1000, 1e6, -3600].map((age) => seconds(silentFor(age)))).toEqual([2, 4, 10, 30, 30, 2]);
  });
});
