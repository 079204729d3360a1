import { describe, expect, it } from 'vitest';
import { aMachine, aSpec } from '../../../../test/support/fixtures/builders.ts';
import type { Machine, MachineSpec } from '../../../api/machine.ts';
import { decideUpgrade, desiredVersions, type UpgradeView } from './decide-upgrade.ts';

const from = '1.34.1';
const to = '1.35.4';
const hop = { from, to, target: to };

/** A node whose machine asks for, and whose components run, these versions. */
function aNode(slot: number, spec: Partial<MachineSpec> = {}, seen: Record<string, string> = {}): Machine {
  const machine = aMachine(slot);
  const running = { apiServer: from, controllerManager: from, scheduler: from, proxy: from, ...seen };
  const { kubelet = from, ...components } = running as Record<string, string>;
  return {
    ...machine,
    spec: { ...machine.spec, kubernetesVersion: from, ...spec },
    status: {
      ...{ observedGeneration: 1, phase: 'Ready', conditions: [] },
      applied: { talosVersion: '1.13.9', kubernetesVersion: kubelet, components },
    },
  };
}

const spec = aSpec();
const view = (more: Partial<UpgradeView> = {}): UpgradeView => ({
  ...{ running: from, desired: to, spec, machines: [aNode(0), aNode(1)] },
  ...{ isChanging: false, isPaused: false },
  ...more,
});
const asked = { components: { apiServer: to } };
const isReady = { preparation: { kind: 'ready' } } as const;
const done = { apiServer: to, controllerManager: to, scheduler: to, proxy: to, kubelet: to };
const allDone = [aNode(0, { kubernetesVersion: to }, done), aNode(1, { kubernetesVersion: to }, done)];

describe('the upgrade of a cluster', () => {
  it.each<[string, Partial<UpgradeView>, object]>([
    ['is nothing without a request', { desired: undefined }, { kind: 'none' }],
    ['is nothing before the cluster has a version', { running: undefined }, { kind: 'none' }],
    ['begins with checks and images', {}, { kind: 'prepare', hop }],
    ['waits while the changes are held', { isPaused: true }, { kind: 'wait' }],
    [
      'D15: waits for the images',
      { preparation: { kind: 'waits', message: '2 of 8 images' } },
      { kind: 'wait', message: '2 of 8 images' },
    ],
    [
      'D14: is blocked with a reason, and nothing changes',
      { preparation: { kind: 'blocked', reason: 'UpgradeBlocked', message: 'no' } },
      { kind: 'blocked', reason: 'UpgradeBlocked', message: 'no' },
    ],
    ['asks all control planes for the next API server', isReady, { kind: 'write', hop, plan: { stage: 'apiServer' } }],
    ['asks for nothing while a node is being changed', { ...isReady, isChanging: true }, { kind: 'wait' }],
    [
      'D16: leaves one machine after the other to the rollout',
      { machines: [aNode(0, asked, { apiServer: to }), aNode(1, asked)] },
      { kind: 'roll', message: 'Kubernetes 1.34.1 is upgraded to 1.35.4: 1 of 2 API servers run 1.35.4.' },
    ],
    [
      'D16: opens the next stage when all have the one before',
      { machines: [aNode(0, asked, { apiServer: to }), aNode(1, asked, { apiServer: to })] },
      { kind: 'write', plan: { stage: 'controllerManager', isNew: true } },
    ],
    [
      'opens no further stage while the changes are held',
      { isPaused: true, machines: [aNode(0, asked, { apiServer: to }), aNode(1, asked, { apiServer: to })] },
      { kind: 'wait' },
    ],
    [
      'D17: applies the manifests when every machine has the version',
      { machines: allDone },
      { kind: 'apply-manifests' },
    ],
    [
      'D17: waits for them',
      { machines: allDone, manifests: { kind: 'waits', message: 'Not yet.' } },
      { kind: 'wait', message: expect.stringMatching(/bootstrap manifests are applied\. Not yet\./) },
    ],
    [
      'D17: names the manifest that is rejected',
      { machines: allDone, manifests: { kind: 'blocked', message: 'ConfigMap a: no.' } },
      { kind: 'blocked', reason: 'ManifestsRejected', message: expect.stringMatching(/ConfigMap a: no\./) },
    ],
    [
      'ends with the record of the version',
      { machines: allDone, manifests: { kind: 'applied' } },
      { kind: 'record', hop },
    ],
    ['is over with the record', { machines: allDone, running: to }, { kind: 'none' }],
    [
      'D19: is taken back while no API server has changed',
      { desired: from, machines: [aNode(0, asked), aNode(1, asked)] },
      { kind: 'write', plan: undefined },
    ],
    [
      'D19: goes on after that',
      { desired: from, machines: [aNode(0, asked, { apiServer: to }), aNode(1, asked)] },
      { kind: 'roll' },
    ],
  ])('%s', (_, more, expected) => {
    expect(decideUpgrade(view(more))).toMatchObject(expected);
  });

  it('D13: leaves the Machines as they are until Talos was upgraded', () => {
    const old = aNode(1);
    const machines = [aNode(0), { ...old, spec: { ...old.spec, talosVersion: '1.12.6' }, status: undefined }];
    const waiting = { machines: machines as Machine[] };
    expect(decideUpgrade(view(waiting))).toMatchObject({
      kind: 'wait',
      message: expect.stringMatching(/waits for the upgrade of Talos/),
    });
    expect(desiredVersions(view(waiting))(aNode(0))).toEqual({ kubernetesVersion: from });
  });

  it('D18: gives a Machine that is made meanwhile what the cluster has', () => {
    const machines = [aNode(0, asked, { apiServer: to }), aNode(1, asked)];
    const desired = desiredVersions(view({ machines }));
    expect(desired({ spec: { role: 'controlplane' } })).toEqual({
      kubernetesVersion: from,
      components: { apiServer: to },
    });
    expect(desired({ spec: { role: 'worker' } })).toEqual({ kubernetesVersion: from });
  });

  it('leaves a Machine in deletion as it is', () => {
    const leaving = aNode(1);
    leaving.metadata.deletionTimestamp = '2026-11-21T09:00:00Z';
    const machines = [aNode(0, asked, { apiServer: to }), leaving];
    expect(decideUpgrade(view({ machines }))).toMatchObject({ kind: 'roll' });
  });
});
