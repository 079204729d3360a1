import { describe } from 'vitest';
import {
  deletePatch,
  itRejectsPatches,
  preparePatchCases,
  type RejectedPatch,
} from '../../../../test/talos/patch-cases.ts';

preparePatchCases();

const cases: readonly RejectedPatch[] = [
  {
    what: 'an endpoint that is not a URL',
    patch: { cluster: { controlPlane: { endpoint: 'c.example.org:6443' } } },
    problem: 'cluster.controlPlane.endpoint',
  },
  {
    what: 'a Kubernetes key on a worker',
    role: 'worker',
    patch: { cluster: { ca: { key: 'eA==' } } },
    problem: 'cluster.ca.key must not be',
  },
  {
    what: 'no service-account key',
    patch: { cluster: { serviceAccount: deletePatch } },
    problem: 'cluster.serviceAccount.key is missing',
    onlyWe: true,
  },
  {
    what: 'etcd on a worker',
    role: 'worker',
    patch: { cluster: { etcd: { image: 'x' } } },
    problem: 'cluster.etcd must not be',
  },
  {
    what: 'no etcd authority',
    patch: { cluster: { etcd: { ca: deletePatch } } },
    problem: 'cluster.etcd.ca is missing',
  },
  {
    what: 'two kinds of etcd subnets',
    patch: { cluster: { etcd: { subnet: '10.0.0.0/8' } } },
    problem: 'exclude each other',
  },
  {
    what: 'an invalid etcd subnet',
    patch: { cluster: { etcd: { listenSubnets: ['x'] } } },
    problem: 'cluster.etcd.listenSubnets',
  },
  {
    what: 'an invalid Pod subnet',
    patch: { cluster: { network: { podSubnets: ['10.244.0.0'] } } },
    problem: 'cluster.network.podSubnets',
    onlyWe: true,
  },
  {
    what: 'an invalid DNS domain',
    patch: { cluster: { network: { dnsDomain: 'a..b' } } },
    problem: 'dnsDomain is not a DNS name',
  },
  {
    what: 'an unknown CNI',
    patch: { cluster: { network: { cni: { name: 'cilium' } } } },
    problem: 'flannel, custom or none',
  },
  {
    what: 'URLs for a CNI without URLs',
    patch: { cluster: { network: { cni: { name: 'none', urls: ['https://x/y'] } } } },
    problem: 'cni.urls needs name: custom',
  },
  {
    what: 'flannel options for another CNI',
    patch: { cluster: { network: { cni: { name: 'none', flannel: { extraArgs: ['a'] } } } } },
    problem: 'needs name: flannel',
  },
  { what: 'discovery without an id', patch: { cluster: { id: deletePatch } }, problem: 'needs cluster.id' },
  {
    what: 'a discovery service with a path',
    patch: { cluster: { discovery: { registries: { service: { endpoint: 'https://x/y' } } } } },
    problem: 'without a path',
  },
  {
    what: 'a manifest without a name',
    patch: { cluster: { inlineManifests: [{ contents: 'x' }] } },
    problem: 'every manifest needs a name',
  },
  {
    what: 'two manifests of one name',
    patch: {
      cluster: {
        inlineManifests: [
          { name: 'a', contents: 'x' },
          { name: 'a', contents: 'y' },
        ],
      },
    },
    problem: 'the same name',
  },
  {
    what: 'a manifest that is not a URL',
    patch: { cluster: { extraManifests: ['x'] } },
    problem: 'cluster.extraManifests',
    onlyWe: true,
  },
  {
    what: 'an image with an invalid name',
    patch: { cluster: { apiServer: { image: ':v1.1.1'.repeat(18_000) } } },
    problem: 'cluster.apiServer.image is longer than 512 characters',
    onlyWe: true,
  },
  {
    what: 'an image without a version',
    patch: { cluster: { apiServer: { image: 'registry.example.org/kube-apiserver:latest' } } },
    problem: 'cluster.apiServer.image needs a tag',
    onlyWe: true,
  },
  {
    // Talos 1.13 accepts a list, which repeats the flag; 1.12 does not.
    what: 'a repeated argument, which some versions of Talos cannot read',
    onlyWe: true,
    patch: { cluster: { apiServer: { extraArgs: { a: ['1', '2'] } } } },
    problem: 'cluster.apiServer.extraArgs.a must be a string',
  },
];

describe('a value that Talos would reject in its cluster section is rejected here, with the path', () =>
  itRejectsPatches(cases));
