import { describe, expect, it } from 'vitest';
import {
  configDocument,
  configProblems,
  deletePatch,
  itRejectsPatches,
  preparePatchCases,
  type RejectedPatch,
  renderPatchedConfig,
} from '../../../../test/talos/patch-cases.ts';
import { describeWithTalosctl114, validateWithTalosctl } from '../../../../test/talos/talosctl.ts';
import type { ConfigDocument } from '../config-document.ts';

preparePatchCases();

const cases: readonly RejectedPatch[] = [
  {
    what: 'a host name with a generator',
    patch: configDocument('HostnameConfig', { auto: 'stable' }),
    problem: 'exclude each other',
  },
  {
    what: 'no host name at all',
    patch: configDocument('HostnameConfig', { hostname: deletePatch }),
    problem: 'HostnameConfig needs hostname or auto',
  },
  {
    what: 'a host name that is too long',
    patch: configDocument('HostnameConfig', { hostname: 'a'.repeat(64) }),
    problem: 'HostnameConfig.hostname is too long',
  },
  {
    what: 'two host names',
    patch: { machine: { network: { hostname: 'x' } } },
    problem: 'HostnameConfig and machine.network.hostname',
  },
  {
    what: 'two lists of name servers',
    patch: configDocument('ResolverConfig', { nameservers: [{ address: '192.0.2.1' }] }),
    problem: 'ResolverConfig and machine.network.nameservers',
  },
  {
    what: 'two lists of time servers',
    patch: configDocument('TimeSyncConfig', { ntp: { servers: ['x'] } }),
    problem: 'TimeSyncConfig and machine.time.servers',
  },
];

describe('a document that Talos would reject is rejected here, with the path', () => itRejectsPatches(cases));

const later: readonly RejectedPatch[] = [
  {
    what: 'two API servers',
    patch: { cluster: { apiServer: { certSANs: ['a.example.org'] } } },
    problem: 'KubeAPIServerConfig and cluster.apiServer',
  },
  {
    what: 'an API server document without authentication',
    patch: configDocument('KubeAuthenticationConfig', deletePatch),
    problem: 'needs KubeAuthenticationConfig',
    onlyWe: true,
  },
  {
    what: 'an API server document without authorizers',
    patch: configDocument('KubeAuthorizerConfig', { name: 'rbac', ...deletePatch }),
    problem: 'needs KubeAuthorizerConfig',
    onlyWe: true,
  },
  {
    what: 'an issuer in an argument',
    patch: configDocument('KubeAPIServerConfig', { extraArgs: { 'oidc-issuer-url': 'https://id.example.org' } }),
    problem: 'KubeAPIServerConfig.extraArgs.oidc-issuer-url has its own document: use KubeAuthenticationConfig',
  },
  {
    what: 'two kubelets',
    patch: configDocument('KubeletConfig', { image: 'ghcr.io/siderolabs/kubelet:v1.35.4' }),
    problem: 'KubeletConfig and machine.kubelet',
  },
  {
    what: 'a repeated argument in a document',
    patch: configDocument('KubeletConfig', {
      image: 'ghcr.io/siderolabs/kubelet:v1.35.4',
      extraArgs: { a: ['1', '2'] },
    }),
    problem: 'KubeletConfig.extraArgs.a must be a string',
  },
  {
    what: 'a document of control planes',
    role: 'worker',
    patch: configDocument('KubeCoreDNSConfig', { enabled: true }),
    problem: 'KubeCoreDNSConfig must not be on a worker',
  },
];

describe('a document that Talos 1.14 would reject is rejected here, with the path', () =>
  itRejectsPatches(later, '1.14.0'));

/** Typical changes of platform teams to the documents of the API server. */
const modern: readonly ConfigDocument[] = [
  configDocument('KubeAPIServerConfig', { certExtraSANs: ['a.example.org'], extraArgs: { 'feature-gates': 'A=true' } }),
  configDocument('KubeAuthenticationConfig', { configuration: { anonymous: { enabled: true } } }),
];

describe('a document of Talos 1.14 instead of a section', () => {
  it('is accepted', () => {
    expect(configProblems('controlplane', modern, { talosVersion: '1.14.0' })).toEqual([]);
  });

  it('determines the version of Kubernetes, as the section did', () => {
    const named = (image: string) => [...modern, configDocument('KubeAPIServerConfig', { image })];
    const with14 = (image: string) => configProblems('controlplane', named(image), { talosVersion: '1.14.0' });
    expect(with14('kube-apiserver')).toEqual([
      'KubeAPIServerConfig.image needs a tag with the version, like :v1.35.4.',
    ]);
    expect(with14('kube-apiserver:v1.20.1').join()).toMatch(/^KubeAPIServerConfig\.image: .*1\.20/);
  });

  describeWithTalosctl114((talosctl) => {
    it('is accepted by it too', () => {
      expect(
        validateWithTalosctl(
          talosctl,
          'cloud',
          renderPatchedConfig('controlplane', modern, { talosVersion: '1.14.0' }),
        ),
      ).toBe('');
    });
  });
});
