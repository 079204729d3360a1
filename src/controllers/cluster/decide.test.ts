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
  misfit: undefined,
  platform: 'truenas',
  addressing: { pool: 'main', endpoint: 'virtual-address' },
  fixedEndpoint: undefined,
  endpointHolder: undefined,
  secrets: undefined,
  trouble: undefined,
  noAddress: undefined,
  endpoint: undefined,
  machines: [],
  bootstrap: undefined,
  proof: undefined,
  trust: undefined,
  roll: undefined,
  recorded: more.secrets && JSON.stringify(toClusterRecord(more.secrets)),
  ...more,
});

const wishing = (version: string) => aCluster({ kubernetes: { version } });

describe('what to do next for a Cluster', () => {
  it.each<[string, ClusterView, string]>([
    ['secrets come before everything that uses them', view(), 'create-secrets'],
    [
      'then the endpoint, because certificates and configurations name it',
      view({ secrets: secrets() }),
      'find-endpoint',
    ],
    [
      'then the machines, even if one of them is to have the endpoint and nobody knows where',
      view({ secrets: secrets(), endpoint: { url: undefined, virtualAddress: undefined } }),
      'create-machines',
    ],
    [
      'then every machine that is missing',
      view({ secrets: secrets(), endpoint, machines: [aMachine(1)] }),
      'create-machines',
    ],
    [
      'nothing while no control plane answers from its own disk',
      view({ secrets: secrets(), endpoint, machines: three([]) }),
      'settled',
    ],
    [
      'bootstrap as soon as one does',
      view({ secrets: secrets(), endpoint, machines: three(provisioned) }),
      'bootstrap',
    ],
    [
      'no second try in the same look',
      view({ secrets: secrets(), endpoint, machines: three(provisioned), bootstrap: { done: false, message: 'x' } }),
      'settled',
    ],
    [
      'never again once members were seen',
      view({ secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three(provisioned) }),
      'prove',
    ],
    [
      'settled when the proof is there',
      view({
        secrets: secrets({ bootstrappedAt: 'then' }),
        endpoint,
        machines: three(),
        proof: { ok: true, version: '1.35.4' },
      }),
      'settled',
    ],
    ['nothing at all when the version is not offered', view({ cluster: wishing('1.33.0') }), 'settled'],
  ])('%s', (_, given, expected) => {
    expect(decideCluster(given).kind).toBe(expected);
  });

  describe('what was decided once is written down in two places before anything is done by it', () => {
    const known = secrets({ bootstrapMachine: 'one' });
    const saying = (record: unknown) => ({
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
        'the status says less',
        view({ ...unwritten, secrets: noted(notes), cluster: saying({ talosCa: known.talosCa }) }),
        'record',
      ],
      [
        'the Secret lacks it',
        view({ ...unwritten, secrets: noted({}), cluster: saying(toClusterRecord(known)) }),
        'record',
      ],
      [
        'both say it',
        view({ ...unwritten, secrets: noted(notes), cluster: saying(toClusterRecord(known)) }),
        'bootstrap',
      ],
    ])('%s', (_, given, expected) => {
      expect(decideCluster(given).kind).toBe(expected);
    });
  });

  it('a Secret that only the cache lacks is looked for, and nothing else is done when it is gone', () => {
    const trouble = { reason: 'SecretsMissing', message: 'Put it back.' } as const;
    expect(decideCluster(view({ trouble, machines: [aMachine(1)], endpoint })).kind).toBe('seek-secrets');
    const gone = view({ trouble, machines: [aMachine(1)], endpoint, sought: true });
    expect(decideCluster(gone).kind).toBe('settled');
    const states = describeClusterConditions(gone);
    expect(summarizeReady(states)).toMatchObject({
      status: 'False',
      reason: 'SecretsMissing',
      message: 'Put it back.',
    });
    expect(states).toContainEqual(expect.objectContaining({ type: 'EndpointReachable', status: 'Unknown' }));
  });

  it('no secrets are made for a Cluster that is to go', () => {
    const cluster = aCluster({}, { deletionTimestamp: '2026-11-21T10:00:00Z', finalizers: ['others'] });
    expect(decideCluster(view({ cluster })).kind).toBe('settled');
  });

  it('makes only the machines that are missing', () => {
    const decision = decideCluster(view({ secrets: secrets(), endpoint, machines: [aMachine(1)] }));
    expect(decision.kind === 'create-machines' && decision.slots.map((slot) => slot.slot)).toEqual([0, 2]);
  });
});

describe('which machine etcd is bootstrapped on', () => {
  it('P44: is the chosen one for ever, even when another would be able and it is not', () => {
    const machines = [aMachine(0, provisioned), aMachine(1, [])];
    const [, second] = machines;
    const chosen = secrets({ bootstrapMachine: second!.metadata.name });
    expect(findBootstrapCandidate(view({ secrets: chosen, machines }))).toBeUndefined();
    expect(
      findBootstrapCandidate(view({ secrets: chosen, machines: [aMachine(0, provisioned), aMachine(1, provisioned)] }))
        ?.metadata.name,
    ).toBe(second!.metadata.name);
  });

  it('is never a worker and never one in deletion', () => {
    const leaving = aMachine(0, provisioned);
    leaving.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    expect(
      findBootstrapCandidate(view({ secrets: secrets(), machines: [leaving, aMachine(0, provisioned, 'work')] })),
    ).toBeUndefined();
  });
});

describe('the Kubernetes version of a Cluster', () => {
  it.each<[string, ClusterView, unknown]>([
    ['is the newest offered that is not deprecated when none is wished', view(), { version: '1.35.4' }],
    ['is the wished one, deprecated or not', view({ cluster: wishing('1.34.1') }), { version: '1.34.1' }],
    ['is the newest patch of a minor version', view({ cluster: wishing('1.34') }), { version: '1.34.1' }],
    ['is it with a v as well', view({ cluster: wishing('v1.35') }), { version: '1.35.4' }],
    [
      'fulfils a minor version for good, whatever is offered later',
      view({ cluster: wishing('1.35'), secrets: secrets({ kubernetesVersion: '1.35.1' }) }),
      { version: '1.35.1' },
    ],
    ['may be wished with a v', view({ cluster: wishing('v1.34.1') }), { version: '1.34.1' }],
    ['stays what it was made with', view({ secrets: secrets({ kubernetesVersion: '1.34.1' }) }), { version: '1.34.1' }],
  ])('%s', (_, given, expected) => {
    expect(decideKubernetesVersion(given)).toEqual(expected);
  });

  it.each<[string, ClusterView, string, RegExp]>([
    ['not offered', view({ cluster: wishing('1.33.0') }), 'VersionNotOffered', /1\.35\.4, 1\.34\.1/],
    ['of a minor version that is not offered', view({ cluster: wishing('1.3') }), 'VersionNotOffered', /1\.35\.4/],
    ['nothing but a v', view({ cluster: wishing('v') }), 'VersionNotOffered', /version: v is not offered/],
    [
      'C23: changed after the fact',
      view({ cluster: wishing('1.35.4'), secrets: secrets({ kubernetesVersion: '1.34.1' }) }),
      'VersionChangeRefused',
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
      'with a ProviderConfig that was changed a moment ago: nobody has judged it yet',
      view({ config: aProviderConfig(aSpec(), { metadata: { name: 'home', generation: 2, uid: 'config-uid' } }) }),
      'ProviderConfigNotReady',
      /spec\.profile: .*home/,
    ],
    [
      'with ClusterConfigs that do not fit',
      view({
        spec: undefined,
        misfit: { reason: 'InvalidClusterConfig', message: 'ClusterConfig big, patches[0]: no' },
      }),
      'InvalidClusterConfig',
      /big, patches/,
    ],
    [
      'with a prefix that names of nodes cannot begin with',
      view({ cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'My Nodes' } }) }),
      'InvalidConfig',
      /node-prefix\]: My Nodes/,
    ],
    [
      'with a prefix that comes when the nodes have their names',
      view({ cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'web' } }), secrets: secrets() }),
      'NameChangeRefused',
      /Remove it/,
    ],
    [
      'with a prefix that was changed',
      view({ secrets: secrets({ nodePrefix: 'web' }) }),
      'NameChangeRefused',
      /Put web back/,
    ],
    [
      'with an endpoint that another Cluster has',
      view({ fixedEndpoint, endpointHolder: { namespace: 'other', name: 'first' } }),
      'EndpointTaken',
      /controlPlane\.endpoint.*other\/first/,
    ],
  ])('is refused with a sentence: %s', (_, given, reason, words) => {
    const version = decideKubernetesVersion(given);
    expect(version).toHaveProperty('refused.reason', reason);
    expect('refused' in version && version.refused.message).toMatch(words);
  });
});

describe('how a Cluster stands', () => {
  it('is ready only with a proof just made', () => {
    const almost = view({ secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three() });
    expect(
      describeClusterConditions(almost)
        .filter((state) => state.status !== 'True')
        .map((state) => state.type),
    ).toEqual(['EndpointReachable']);
    const proven = { ...almost, proof: { ok: true, version: '1.35.4' } as const };
    expect(describeClusterConditions(proven).every((state) => state.status === 'True')).toBe(true);
  });

  it('is not ready when its secrets cannot be read, and nothing is made in their place', () => {
    const damaged = view({ trouble: { reason: 'SecretsDamaged', message: 'Restore it.' }, machines: three() });
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

  it('says when there is no address left for it, and waits with everything else', () => {
    const left = view({ secrets: secrets(), noAddress: 'network.addressPool: add some.' });
    expect(decideCluster(left).kind).toBe('settled');
    expect(summarizeReady(describeClusterConditions(left))).toMatchObject({
      status: 'False',
      reason: 'NoAddressLeft',
      message: 'network.addressPool: add some.',
    });
  });

  it('says when its Secret is that of another Cluster, makes nothing, and looks again in a minute', () => {
    const trouble = { reason: 'NameCollision', message: 'Secret s belongs to Cluster other/first.' } as const;
    const barred = view({ trouble });
    expect(decideCluster(barred)).toEqual({ kind: 'settled' });
    const states = describeClusterConditions(barred);
    expect(summarizeReady(states)).toMatchObject(trouble);
    expect(decideRequeueAfterSeconds(barred, states, { isHeard: false, now: new Date() })).toBe(60);
  });

  it('says when the name of one of its machines is taken, and is served with the others all the same', () => {
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

  it('says which machines it waits for and what they wait for', () => {
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

describe('machines that nobody asked for any more', () => {
  const one = { ...aSpec(), controlPlane: { ...aSpec().controlPlane, replicas: 1 } };
  const words = (machines: Machine[]) =>
    describeClusterConditions(view({ secrets: secrets(), endpoint, spec: one, machines })).find(
      ({ type }) => type === 'MachinesReady',
    );
  const surplus = /More machines than asked for: prod-[a-z2-7]{8}-cp-1\. To remove one, delete its Machine\./;

  it.each([
    ['ready', ready],
    ['not ready', provisioned],
  ])('are told whether they are ready or not: %s', (_, conditions) => {
    expect(words([aMachine(0, ready), aMachine(1, conditions)])).toMatchObject({
      reason: 'MoreThanAsked',
      message: expect.stringMatching(surplus),
    });
  });

  it('are told beside those that are waited for, and do not count', () => {
    const state = words([aMachine(0, provisioned), aMachine(1, ready)]);
    expect(state).toMatchObject({ reason: 'WaitingForMachines', message: expect.stringMatching(surplus) });
    expect(state?.message).toMatch(/^0 of 1 are ready\. prod-[a-z2-7]{8}-cp-0: [^.]+\. More/);
  });
});

describe('when a Cluster is looked at again', () => {
  const now = new Date('2026-11-21T09:00:00Z');
  const made = { secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three() };
  const silent = { ok: false, message: 'It does not answer.' } as const;
  /** Silent for so many seconds after it had answered. */
  const silentFor = (seconds: number): ClusterView => {
    const lastTransitionTime = new Date(now.getTime() - seconds * 1000).toISOString();
    const conditions = [{ ...aCondition('EndpointReachable', 'False'), lastTransitionTime }];
    const status = {
      observedGeneration: 1,
      phase: 'Progressing',
      endpoints: [{ name: 'external', url: endpoint.url }],
      conditions,
    };
    return view({ ...made, cluster: { ...aCluster(), status }, proof: silent });
  };
  const seconds = (given: ClusterView, isHeard = false): number =>
    decideRequeueAfterSeconds(given, describeClusterConditions(given), { isHeard, now });

  it('is in a minute when all is well, and soon while it is being made', () => {
    expect(seconds(view({ ...made, proof: { ok: true, version: '1.35.4' } }))).toBe(60);
    expect(seconds(view({ ...made, proof: silent }))).toBe(5);
  });

  it('is in half an hour when all is well and the cluster itself tells of its nodes', () => {
    const well = view({ ...made, proof: { ok: true, version: '1.35.4' } });
    expect(seconds(well, true)).toBe(1800);
    expect(seconds({ ...well, roll: { done: 1, message: 'one after the other' } as never }, true)).toBe(3);
    expect(seconds(view({ ...made, proof: silent }), true)).toBe(5);
    expect(seconds(view({ cluster: wishing('1.33.0') }), true)).toBe(60);
  });

  it('is in a minute where only a change helps, and soon for an endpoint that somebody gives back without a word', () => {
    expect(seconds(view({ cluster: wishing('1.33.0') }))).toBe(60);
    expect(seconds(view({ secrets: secrets(), noAddress: 'none left' }))).toBe(60);
    expect(seconds(view({ endpointHolder: { namespace: 'other', name: 'first' } }))).toBe(5);
  });

  it('is later and later when it answers no more, and never later than in half a minute', () => {
    expect([0, 40, 100, 1000, 1e6, -3600].map((age) => seconds(silentFor(age)))).toEqual([2, 4, 10, 30, 30, 2]);
  });
});
