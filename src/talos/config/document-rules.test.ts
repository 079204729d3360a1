import { describe, expect, it } from 'vitest';
import {
  document,
  gone,
  prepareRules,
  problems,
  type Refused,
  refuse,
  textOf,
} from '../../../test/talos/rule-cases.ts';
import { validate, withTalosctl114 } from '../../../test/talos/talosctl.ts';
import type { ConfigDocument } from './document.ts';

prepareRules();

const cases: readonly Refused[] = [
  {
    what: 'a host name with a generator',
    patch: document('HostnameConfig', { auto: 'stable' }),
    problem: 'exclude each other',
  },
  {
    what: 'no host name at all',
    patch: document('HostnameConfig', { hostname: gone }),
    problem: 'HostnameConfig needs hostname or auto',
  },
  {
    what: 'a host name that is too long',
    patch: document('HostnameConfig', { hostname: 'a'.repeat(64) }),
    problem: 'HostnameConfig.hostname is too long',
  },
  {
    what: 'two host names',
    patch: { machine: { network: { hostname: 'x' } } },
    problem: 'HostnameConfig cannot stand beside machine.network.hostname',
  },
  {
    what: 'two lists of name servers',
    patch: document('ResolverConfig', { nameservers: [{ address: '192.0.2.1' }] }),
    problem: 'ResolverConfig cannot stand beside machine.network.nameservers',
  },
  {
    what: 'two lists of time servers',
    patch: document('TimeSyncConfig', { ntp: { servers: ['x'] } }),
    problem: 'TimeSyncConfig cannot stand beside machine.time.servers',
  },
];

describe('what Talos would refuse of its documents is refused here, with the path', () => refuse(cases));

const later: readonly Refused[] = [
  {
    what: 'an API server twice',
    patch: { cluster: { apiServer: { certSANs: ['a.example.org'] } } },
    problem: 'KubeAPIServerConfig cannot stand beside cluster.apiServer',
  },
  {
    what: 'an API server document without authentication',
    patch: document('KubeAuthenticationConfig', gone),
    problem: 'needs KubeAuthenticationConfig',
    onlyWe: true,
  },
  {
    what: 'an API server document without authorizers',
    patch: document('KubeAuthorizerConfig', { name: 'rbac', ...gone }),
    problem: 'needs KubeAuthorizerConfig',
    onlyWe: true,
  },
  {
    what: 'an issuer in an argument',
    patch: document('KubeAPIServerConfig', { extraArgs: { 'oidc-issuer-url': 'https://id.example.org' } }),
    problem: 'KubeAPIServerConfig.extraArgs.oidc-issuer-url is for a document of its own: use KubeAuthenticationConfig',
  },
  {
    what: 'a kubelet twice',
    patch: document('KubeletConfig', { image: 'ghcr.io/siderolabs/kubelet:v1.35.4' }),
    problem: 'KubeletConfig cannot stand beside machine.kubelet',
  },
  {
    what: 'a repeated argument in a document',
    patch: document('KubeletConfig', { image: 'ghcr.io/siderolabs/kubelet:v1.35.4', extraArgs: { a: ['1', '2'] } }),
    problem: 'KubeletConfig.extraArgs.a must be a text',
  },
  {
    what: 'a document of control planes',
    role: 'worker',
    patch: document('KubeCoreDNSConfig', { enabled: true }),
    problem: 'KubeCoreDNSConfig must not be on a worker',
  },
];

describe('what Talos 1.14 would refuse of its documents is refused here, with the path', () => refuse(later, '1.14.0'));

/** What platform teams change in the documents of the API server. */
const modern: readonly ConfigDocument[] = [
  document('KubeAPIServerConfig', { certExtraSANs: ['a.example.org'], extraArgs: { 'feature-gates': 'A=true' } }),
  document('KubeAuthenticationConfig', { configuration: { anonymous: { enabled: true } } }),
];

describe('a document of Talos 1.14 in place of a section', () => {
  it('is accepted', () => {
    expect(problems('controlplane', modern, { talosVersion: '1.14.0' })).toEqual([]);
  });

  it('says which Kubernetes runs, as the section did', () => {
    const named = (image: string) => [...modern, document('KubeAPIServerConfig', { image })];
    const with14 = (image: string) => problems('controlplane', named(image), { talosVersion: '1.14.0' });
    expect(with14('kube-apiserver')).toEqual([
      'KubeAPIServerConfig.image needs a tag with the version, like :v1.35.4.',
    ]);
    expect(with14('kube-apiserver:v1.20.1').join()).toMatch(/^KubeAPIServerConfig\.image: .*1\.20/);
  });

  withTalosctl114((talosctl) => {
    it('is accepted by it too', () => {
      expect(validate(talosctl, 'cloud', textOf('controlplane', modern, { talosVersion: '1.14.0' }))).toBe('');
    });
  });
});
