import { describe, expect, it } from 'vitest';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../../test/talos/example-config.ts';
import { buildConfigDocuments, type MachineConfigInput } from '../../../../talos/config/machine-config.ts';
import { findRemovedSettings } from './find-removed-settings.ts';

const bundle = await exampleSecretsBundle();

const find = (
  patch: Record<string, unknown>,
  { from, to, ...input }: { from: string; to: string } & Partial<MachineConfigInput>,
) => {
  const patches = [{ from: 'talos.patches[0]', document: patch }];
  const documents = buildConfigDocuments(exampleConfigInput(bundle, { kubernetesVersion: from, patches, ...input }));
  return findRemovedSettings(documents, { from, to, target: to });
};

describe('D14: settings that the next version of Kubernetes no longer accepts', () => {
  it.each<[string, Record<string, unknown>, string, string, string]>([
    [
      'a flag of the kubelet',
      { machine: { kubelet: { extraArgs: { 'pod-infra-container-image': 'x' } } } },
      '1.34.1',
      '1.35.2',
      'machine.kubelet.extraArgs.pod-infra-container-image: Kubernetes 1.35 does not have this flag.',
    ],
    [
      'a feature gate among several',
      { cluster: { apiServer: { extraArgs: { 'feature-gates': 'Other=true,SizeMemoryBackedVolumes=true' } } } },
      '1.34.1',
      '1.35.2',
      'cluster.apiServer: Kubernetes 1.35 does not have the feature gate SizeMemoryBackedVolumes.',
    ],
    [
      'a feature gate of a flag that is repeated',
      { cluster: { scheduler: { extraArgs: { 'feature-gates': ['A=true', 'LegacySidecarContainers=false'] } } } },
      '1.33.5',
      '1.34.1',
      'cluster.scheduler: Kubernetes 1.34 does not have the feature gate LegacySidecarContainers.',
    ],
    [
      'a feature gate in the configuration of the kubelet',
      { machine: { kubelet: { extraConfig: { featureGates: { DevicePluginCDIDevices: true } } } } },
      '1.33.5',
      '1.34.1',
      'machine.kubelet: Kubernetes 1.34 does not have the feature gate DevicePluginCDIDevices.',
    ],
  ])('%s', (_, patch, from, to, sentence) => {
    expect(find(patch, { from, to })).toEqual([sentence]);
  });

  it('are found in the documents of Talos 1.14', () => {
    const patch = {
      apiVersion: 'v1alpha1',
      kind: 'KubeAPIServerConfig',
      extraArgs: { 'feature-gates': 'GangScheduling=true' },
    };
    expect(find(patch, { from: '1.36.1', to: '1.37.0', talosVersion: '1.14.0' })).toEqual([
      'KubeAPIServerConfig: Kubernetes 1.37 does not have the feature gate GangScheduling.',
    ]);
  });

  it('do not include what an earlier minor has removed already, or a later one will remove', () => {
    const gates = 'LegacySidecarContainers=true,GangScheduling=true';
    const patch = { cluster: { apiServer: { extraArgs: { 'feature-gates': gates } } } };
    expect(find(patch, { from: '1.34.1', to: '1.35.2' })).toEqual([]);
    expect(find(patch, { from: '1.34.1', to: '1.34.9' })).toEqual([]);
  });

  it.each(['1.12.6', '1.13.9', '1.14.0'])('are not part of what we render for Talos %s', (talosVersion) => {
    const range = { from: '1.30.0', to: '1.37.0', talosVersion, patches: [] };
    expect(find({}, range)).toEqual([]);
    expect(find({}, { ...range, role: 'worker' })).toEqual([]);
  });

  it('include an admission plugin, by its configuration and by its name', () => {
    const by = (apiServer: object) => find({ cluster: { apiServer } }, { from: '1.29.9', to: '1.30.1' });
    const sentence = 'cluster.apiServer: Kubernetes 1.30 does not have the admission plugin SecurityContextDeny.';
    expect(by({ extraArgs: { 'enable-admission-plugins': 'A,SecurityContextDeny' } })).toEqual([sentence]);
    expect(by({ admissionControl: [{ name: 'SecurityContextDeny', configuration: {} }] })).toEqual([sentence]);
  });
});
