import { describe, expect, it } from 'vitest';
import { aCluster, aMachine, aProviderConfig, aSpec, condition } from '../../../test/support/builders.ts';
import { summarize } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { ClusterSecrets } from '../cluster-secrets.ts';
import { bootstrapCandidate, decide, decideVersion, describeStates, lookAgainSeconds } from './decide.ts';
import type { ClusterView } from './view.ts';

const secrets = (more: Partial<ClusterSecrets> = {}): ClusterSecrets => ({
  object: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } },
  bundle: {} as ClusterSecrets['bundle'],
  bootstrapMachine: undefined,
  bootstrappedAt: undefined,
  endpoint: undefined,
  kubernetesVersion: '1.35.4',
  nodePrefix: undefined,
  trust: undefined,
  ...more,
});

const fixedEndpoint = { at: 'k8s.example.org:6443', field: 'controlPlane.endpoint' };
const endpoint = { url: 'https://192.168.10.20:6443', virtualAddress: '192.168.10.20' };
const provisioned = [condition('Provisioned')];
const ready = [condition('Provisioned'), condition('Joined'), condition('Ready')];
const three = (conditions = ready) => [0, 1, 2].map((slot) => aMachine(slot, conditions));

const view = (more: Partial<ClusterView> = {}): ClusterView => ({
  cluster: aCluster(),
  ref: { namespace: 'team', name: 'prod' },
  config: aProviderConfig(),
  spec: aSpec(),
  misfit: undefined,
  platform: 'truenas',
  addressing: { pool: 'main', endpoint: 'virtual-address' },
  fixedEndpoint: undefined,
  endpointHolder: undefined,
  secrets: undefined,
  damage: undefined,
  noAddress: undefined,
  endpoint: undefined,
  machines: [],
  bootstrap: undefined,
  proof: undefined,
  trust: undefined,
  roll: undefined,
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
    expect(decide(given).kind).toBe(expected);
  });

  it('makes only the machines that are missing', () => {
    const decision = decide(view({ secrets: secrets(), endpoint, machines: [aMachine(1)] }));
    expect(decision.kind === 'create-machines' && decision.slots.map((slot) => slot.slot)).toEqual([0, 2]);
  });
});

describe('which machine etcd is bootstrapped on', () => {
  it('P44: is the chosen one for ever, even when another would be able and it is not', () => {
    const machines = [aMachine(0, provisioned), aMachine(1, [])];
    const [, second] = machines;
    const chosen = secrets({ bootstrapMachine: second!.metadata.name });
    expect(bootstrapCandidate(view({ secrets: chosen, machines }))).toBeUndefined();
    expect(
      bootstrapCandidate(view({ secrets: chosen, machines: [aMachine(0, provisioned), aMachine(1, provisioned)] }))
        ?.metadata.name,
    ).toBe(second!.metadata.name);
  });

  it('is never a worker and never one in deletion', () => {
    const leaving = aMachine(0, provisioned);
    leaving.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    expect(
      bootstrapCandidate(view({ secrets: secrets(), machines: [leaving, aMachine(0, provisioned, 'work')] })),
    ).toBeUndefined();
  });
});

describe('the Kubernetes version of a Cluster', () => {
  it.each<[string, ClusterView, unknown]>([
    ['is the newest offered that is not deprecated when none is wished', view(), { version: '1.35.4' }],
    ['is the wished one, deprecated or not', view({ cluster: wishing('1.34.1') }), { version: '1.34.1' }],
    ['may be wished with a v', view({ cluster: wishing('v1.34.1') }), { version: '1.34.1' }],
    ['stays what it was made with', view({ secrets: secrets({ kubernetesVersion: '1.34.1' }) }), { version: '1.34.1' }],
  ])('%s', (_, given, expected) => {
    expect(decideVersion(given)).toEqual(expected);
  });

  it.each<[string, ClusterView, string, RegExp]>([
    ['not offered', view({ cluster: wishing('1.33.0') }), 'VersionNotOffered', /1\.35\.4, 1\.34\.1/],
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
    const version = decideVersion(given);
    expect(version).toHaveProperty('refused.reason', reason);
    expect('refused' in version && version.refused.message).toMatch(words);
  });
});

describe('how a Cluster stands', () => {
  it('is ready only with a proof just made', () => {
    const almost = view({ secrets: secrets({ bootstrappedAt: 'then' }), endpoint, machines: three() });
    expect(
      describeStates(almost)
        .filter((state) => state.status !== 'True')
        .map((state) => state.type),
    ).toEqual(['EndpointReachable']);
    const proven = { ...almost, proof: { ok: true, version: '1.35.4' } as const };
    expect(describeStates(proven).every((state) => state.status === 'True')).toBe(true);
  });

  it('is not ready when its secrets cannot be read, and nothing is made in their place', () => {
    const damaged = view({ damage: 'Restore it.', machines: three() });
    expect(decide(damaged).kind).toBe('settled');
    expect(describeStates(damaged)).toContainEqual(
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
    expect(decide(left).kind).toBe('settled');
    expect(summarize(describeStates(left))).toMatchObject({
      status: 'False',
      reason: 'NoAddressLeft',
      message: 'network.addressPool: add some.',
    });
  });

  it('says which machines it waits for and what they wait for', () => {
    const machines = three();
    machines[2] = {
      ...aMachine(2),
      status: { ...aMachine(2).status!, message: 'await-talos-api: The node does not answer yet.' },
    };
    const state = describeStates(view({ secrets: secrets(), endpoint, machines })).find(
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
    describeStates(view({ secrets: secrets(), endpoint, spec: one, machines })).find(
      ({ type }) => type === 'MachinesReady',
    );
  const surplus = /More machines than asked for: prod-[a-z2-7]{8}-cp-1\. Taking single machines away/;

  it.each([
    ['ready', ready],
    ['not ready', provisioned],
  ])('are told whether they are ready or not: %s', (_, conditions) => {
    expect(words([aMachine(0, ready), aMachine(1, conditions)])).toMatchObject({
      reason: 'NotSupported',
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
    const conditions = [{ ...condition('EndpointReachable', 'False'), lastTransitionTime }];
    const status = {
      observedGeneration: 1,
      phase: 'Progressing',
      endpoints: [{ name: 'external', url: endpoint.url }],
      conditions,
    };
    return view({ ...made, cluster: { ...aCluster(), status }, proof: silent });
  };
  const seconds = (given: ClusterView, isHeard = false): number =>
    lookAgainSeconds(given, describeStates(given), { isHeard, now });

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
    expect([0, 40, 100, 1000, 1e6, -3600].map((age) => seconds(silentFor(age)))).toEqual([5, 5, 10, 30, 30, 5]);
  });
});
