import { describe } from 'vitest';
import {
  deletePatch,
  itRejectsPatches,
  preparePatchCases,
  type RejectedPatch,
} from '../../../../test/talos/patch-cases.ts';

preparePatchCases();

const eth1 = { interface: 'eth1' };

const cases: readonly RejectedPatch[] = [
  { what: 'another role', patch: { machine: { type: 'worker' } }, problem: 'machine.type must stay controlplane' },
  { what: 'no persistence', patch: { persist: false }, problem: 'persist must not be false' },
  { what: 'no OS authority', patch: { machine: { ca: deletePatch } }, problem: 'machine.ca.crt is missing' },
  {
    what: 'no OS key on a control plane',
    patch: { machine: { ca: { key: deletePatch } } },
    problem: 'machine.ca.key is missing',
  },
  {
    what: 'an OS key on a worker',
    role: 'worker',
    patch: { machine: { ca: { key: 'eA==' } } },
    problem: 'machine.ca.key must not be',
  },
  { what: 'no installation', patch: { machine: { install: deletePatch } }, problem: 'machine.install is missing' },
  { what: 'no disk', patch: { machine: { install: { disk: deletePatch } } }, problem: 'machine.install needs disk' },
  {
    what: 'kernel arguments that are ignored',
    patch: { machine: { install: { extraKernelArgs: ['a'] } } },
    problem: 'use talos.kernelArguments',
  },
  {
    what: 'extensions that are ignored',
    patch: { machine: { install: { extensions: [{ image: 'x' }] } } },
    problem: 'use talos.extensions',
  },
  {
    what: 'a kubelet key of Talos',
    patch: { machine: { kubelet: { extraConfig: { staticPodPath: '/x' } } } },
    problem: 'machine.kubelet.extraConfig.staticPodPath',
  },
  {
    what: 'a node IP that is not a subnet',
    patch: { machine: { kubelet: { nodeIP: { validSubnets: ['x'] } } } },
    problem: 'nodeIP.validSubnets',
  },
  {
    what: 'DNS forwarding without a target',
    patch: { machine: { features: { hostDNS: { enabled: false } } } },
    problem: 'needs hostDNS.enabled',
  },
  {
    what: 'a port out of range',
    patch: { machine: { features: { kubePrism: { port: 70_000 } } } },
    problem: 'kubePrism.port',
    onlyWe: true,
  },
  {
    what: 'Talos access from workers',
    role: 'worker',
    patch: { machine: { features: { kubernetesTalosAPIAccess: { enabled: true } } } },
    problem: 'only be enabled on control planes',
  },
  {
    what: 'an invalid label',
    patch: { machine: { nodeLabels: { 'a b': 'c' } } },
    problem: 'a b is not a valid label',
  },
  {
    what: 'an invalid label value',
    patch: { machine: { nodeLabels: { a: 'b c' } } },
    problem: 'a is not a valid label',
  },
  {
    what: 'an invalid taint',
    patch: { machine: { nodeTaints: { a: 'b:Never' } } },
    problem: 'a is not a valid taint',
  },
  {
    what: 'an invalid annotation',
    patch: { machine: { nodeAnnotations: { '/a': 'b' } } },
    problem: 'not a valid annotation',
  },
  {
    what: 'a label that a worker may not set on itself',
    role: 'worker',
    patch: { machine: { nodeLabels: { 'node-role.kubernetes.io/worker': '' } } },
    problem: 'worker nodes cannot set themselves',
    onlyWe: true,
  },
  {
    what: 'taints that a worker may not set on itself',
    role: 'worker',
    patch: { machine: { nodeTaints: { a: 'NoSchedule' } } },
    problem: 'use the taints of the worker pool',
    onlyWe: true,
  },
  {
    what: 'an interface with two selectors',
    patch: { machine: { network: { interfaces: [{ ...eth1, deviceSelector: { driver: 'x' } }] } } },
    problem: 'either interface or deviceSelector',
  },
  {
    what: 'an interface without a selector',
    patch: { machine: { network: { interfaces: [{ mtu: 1500 }] } } },
    problem: 'either interface or deviceSelector',
  },
  {
    what: 'an invalid address',
    patch: { machine: { network: { interfaces: [{ ...eth1, addresses: ['x'] }] } } },
    problem: 'interfaces[1].addresses',
  },
  {
    what: 'a virtual address on a worker',
    role: 'worker',
    patch: { machine: { network: { interfaces: [{ ...eth1, vip: { ip: '192.0.2.1' } }] } } },
    problem: 'interfaces[1].vip must not be on a worker',
  },
  {
    what: 'a virtual address on a worker’s VLAN',
    role: 'worker',
    patch: { machine: { network: { interfaces: [{ ...eth1, vlans: [{ vlanId: 5, vip: { ip: '192.0.2.1' } }] }] } } },
    problem: 'vlans[0].vip must not be',
  },
  {
    what: 'an invalid virtual address',
    patch: { machine: { network: { interfaces: [{ ...eth1, vip: { ip: 'x' } }] } } },
    problem: 'vip.ip is not an address',
    onlyWe: true,
  },
  {
    what: 'an image that this Talos does not run',
    patch: { machine: { kubelet: { image: 'ghcr.io/siderolabs/kubelet:v1.29.0' } } },
    problem: 'machine.kubelet.image: Talos 1.13.9 runs Kubernetes 1.31 to 1.36',
    onlyWe: true,
  },
  {
    what: 'an argument that is a number',
    patch: { machine: { kubelet: { extraArgs: { v: 4 } } } },
    problem: 'machine.kubelet.extraArgs.v must be a string',
    onlyWe: true,
  },
];

describe('a value that Talos would reject in its machine section is rejected here, with the path', () =>
  itRejectsPatches(cases));
