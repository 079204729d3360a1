import { describe, expect, it } from 'vitest';
import { aCluster, aProviderConfig, aSpec } from '../../../test/support/fixtures/builders.ts';
import { aClusterView, requesting, someSecrets } from '../../../test/support/fixtures/cluster-views.ts';
import { annotations } from '../../api/names.ts';
import { decideKubernetesVersion } from './decide.ts';
import type { ClusterView } from './view.ts';

const fixedEndpoint = { at: 'k8s.example.org:6443', field: 'controlPlane.endpoint' };

describe('the Kubernetes version of a Cluster', () => {
  it.each<[string, ClusterView, unknown]>([
    ['is the newest offered one that is not deprecated by default', aClusterView(), { version: '1.35.4' }],
    ['is the requested one, deprecated or not', aClusterView({ cluster: requesting('1.34.1') }), { version: '1.34.1' }],
    ['is the newest patch of a minor version', aClusterView({ cluster: requesting('1.34') }), { version: '1.34.1' }],
    ['is the same with the prefix v', aClusterView({ cluster: requesting('v1.35') }), { version: '1.35.4' }],
    [
      'C23: is the running one until an upgrade has ended',
      aClusterView({ cluster: requesting('1.35'), secrets: someSecrets({ kubernetesVersion: '1.34.1' }) }),
      { version: '1.34.1' },
    ],
    ['can be requested with the prefix v', aClusterView({ cluster: requesting('v1.34.1') }), { version: '1.34.1' }],
    [
      'stays the one of the creation',
      aClusterView({ secrets: someSecrets({ kubernetesVersion: '1.34.1' }) }),
      { version: '1.34.1' },
    ],
  ])('%s', (_, given, expected) => {
    expect(decideKubernetesVersion(given)).toEqual(expected);
  });

  it.each<[string, ClusterView, string, RegExp]>([
    ['not offered', aClusterView({ cluster: requesting('1.33.0') }), 'VersionNotOffered', /1\.35\.4, 1\.34\.1/],
    [
      'of a minor version that is not offered',
      aClusterView({ cluster: requesting('1.3') }),
      'VersionNotOffered',
      /1\.35\.4/,
    ],
    ['only the prefix v', aClusterView({ cluster: requesting('v') }), 'VersionNotOffered', /version: v is not offered/],
    [
      'C23: older than the running one',
      aClusterView({ cluster: requesting('1.34.1'), secrets: someSecrets({ kubernetesVersion: '1.35.4' }) }),
      'VersionChangeRejected',
      /runs 1\.35\.4.*Restore 1\.35\.4/,
    ],
    [
      'without a ProviderConfig',
      aClusterView({ config: undefined, spec: undefined }),
      'ProviderConfigMissing',
      /test\.talos\.home/,
    ],
    [
      'with a ProviderConfig that is not ready',
      aClusterView({
        config: aProviderConfig(aSpec(), { status: { observedGeneration: 1, phase: 'Progressing', conditions: [] } }),
      }),
      'ProviderConfigNotReady',
      /home/,
    ],
    [
      'with a changed ProviderConfig that was not checked yet',
      aClusterView({
        config: aProviderConfig(aSpec(), { metadata: { name: 'home', generation: 2, uid: 'config-uid' } }),
      }),
      'ProviderConfigNotReady',
      /spec\.profile: .*home/,
    ],
    [
      'with ClusterConfigs that cannot be merged',
      aClusterView({
        spec: undefined,
        configMismatch: { reason: 'InvalidClusterConfig', message: 'ClusterConfig big, patches[0]: no' },
      }),
      'InvalidClusterConfig',
      /big, patches/,
    ],
    [
      'with an invalid prefix of node names',
      aClusterView({ cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'My Nodes' } }) }),
      'InvalidConfig',
      /node-prefix\]: My Nodes/,
    ],
    [
      'with a prefix that was added after the nodes were named',
      aClusterView({
        cluster: aCluster({}, { annotations: { [annotations.nodePrefix]: 'web' } }),
        secrets: someSecrets(),
      }),
      'NameChangeRejected',
      /Remove it/,
    ],
    [
      'with a prefix that was changed',
      aClusterView({ secrets: someSecrets({ nodePrefix: 'web' }) }),
      'NameChangeRejected',
      /Restore web/,
    ],
    [
      'with the endpoint of another Cluster',
      aClusterView({ fixedEndpoint, endpointHolder: { namespace: 'other', name: 'first' } }),
      'EndpointInUse',
      /controlPlane\.endpoint.*other\/first/,
    ],
  ])('is rejected with a message: %s', (_, given, reason, text) => {
    const version = decideKubernetesVersion(given);
    expect(version).toHaveProperty('refused.reason', reason);
    expect('refused' in version && version.refused.message).toMatch(text);
  });
});
