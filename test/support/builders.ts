import type { Condition, ConditionType } from '../../src/api/conditions.ts';
import type { Machine } from '../../src/api/machine.ts';
import { group, type Instance, machineName, openmcp, version } from '../../src/api/names.ts';
import type { AccessRequest, Cluster } from '../../src/api/openmcp.ts';
import type { ProviderConfig } from '../../src/api/provider-config.ts';
import { ProviderConfigSpec } from '../../src/api/provider-config-spec.ts';

/** Objects for tests: a good one, and the words to spoil it with. */

export const anInstance: Instance = { environment: 'test', provider: 'talos', namespace: 'openmcp-system' };

const made = '2026-11-21T09:00:00Z';

export const condition = (type: ConditionType, status: Condition['status'] = 'True'): Condition => ({
  type,
  status,
  reason: 'AsExpected',
  message: '',
  lastTransitionTime: made,
});

type Raw = Record<string, unknown>;

/** A spec as a user would write it, with defaults filled in. `change` edits the raw form. */
export function aSpec(change: (raw: Raw) => void = () => {}): ProviderConfigSpec {
  const raw: Raw = {
    providerRef: { name: 'talos' },
    talos: { version: '1.13.9' },
    kubernetes: { versions: [{ version: '1.35.4' }, { version: '1.34.1', deprecated: true }] },
    controlPlane: { size: 'small' },
    network: {
      addressPool: ['192.168.10.20-192.168.10.40'],
      prefix: 24,
      gateway: '192.168.10.1',
      nameServers: ['192.168.10.1'],
    },
    truenas: {
      url: 'wss://nas.example.org/api/current',
      credentialsRef: { name: 'nas' },
      pool: 'tank',
      bridge: 'br0',
      sizes: [{ name: 'small', cpus: 2, memoryMiB: 4096, diskGiB: 40 }],
    },
  };
  change(raw);
  return ProviderConfigSpec.parse(raw);
}

export function aProviderConfig(
  spec: ProviderConfigSpec = aSpec(),
  more: Partial<ProviderConfig> = {},
): ProviderConfig {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'ProviderConfig',
    metadata: { name: 'home', generation: 1, uid: 'config-uid' },
    spec,
    status: { observedGeneration: 1, phase: 'Ready', conditions: [condition('Ready')] },
    ...more,
  };
}

export function aCluster(change: Partial<Cluster['spec']> = {}, metadata: Partial<Cluster['metadata']> = {}): Cluster {
  return {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'prod', namespace: 'team', generation: 1, uid: 'cluster-uid', ...metadata },
    spec: { profile: 'test.talos.home', tenancy: 'Exclusive', ...change },
  };
}

export function aMachine(slot = 0, conditions: readonly Condition[] = [], pool = 'cp'): Machine {
  return {
    apiVersion: `${group}/${version}`,
    kind: 'Machine',
    metadata: {
      name: machineName({ namespace: 'team', name: 'prod' }, pool, slot),
      generation: 1,
      uid: `machine-${pool}-${slot}`,
    },
    spec: {
      providerRef: { name: 'talos', environment: 'test', namespace: 'openmcp-system' },
      providerConfigRef: { name: 'home' },
      clusterRef: { namespace: 'team', name: 'prod', uid: 'cluster-uid' },
      platform: 'truenas',
      role: pool === 'cp' ? 'controlplane' : 'worker',
      pool,
      slot,
      size: 'small',
      talosVersion: '1.13.9',
      kubernetesVersion: '1.35.4',
      endpoint: 'https://192.168.10.20:6443',
    },
    status: {
      observedGeneration: 1,
      phase: 'Ready',
      conditions: [...conditions],
      progress: {
        plan: 'provision',
        step: 'await-member',
        since: made,
        failures: 0,
        facts: { address: `192.168.10.${21 + slot}` },
      },
    },
  };
}

export function anAccessRequest(
  change: Partial<AccessRequest['spec']> = {},
  status: Partial<AccessRequest['status']> = {},
): AccessRequest {
  return {
    apiVersion: 'clusters.openmcp.cloud/v1alpha1',
    kind: 'AccessRequest',
    metadata: {
      name: 'mine',
      namespace: 'team',
      generation: 1,
      uid: 'request-uid',
      labels: { [openmcp.provider]: 'talos', [openmcp.profile]: 'test.talos.home' },
    },
    spec: { clusterRef: { namespace: 'team', name: 'prod' }, token: { permissions: [] }, ...change },
    status: { observedGeneration: 1, phase: 'Pending', ...status },
  };
}
