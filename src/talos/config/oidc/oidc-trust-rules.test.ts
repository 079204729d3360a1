import { beforeAll, describe, expect, it } from 'vitest';
import { configDocument, configProblems, preparePatchCases } from '../../../../test/talos/patch-cases.ts';
import { createCertificateAuthority } from '../../secrets/certificates.ts';
import type { ConfigDocument } from '../config-document.ts';

preparePatchCases();

let certificate: string;
beforeAll(async () => {
  const life = { notBefore: new Date(), notAfter: new Date(Date.now() + 86_400_000) };
  ({ certificate } = await createCertificateAuthority({ keyKind: 'ecdsa-p256', organization: 'issuer', ...life }));
});

const issuer = { 'oidc-issuer-url': 'https://id.example.org', 'oidc-client-id': 'kube' };
const flags = (extraArgs: ConfigDocument, more: ConfigDocument = {}) =>
  configProblems('controlplane', [{ cluster: { apiServer: { extraArgs, ...more } } }]);
const withFile = (content: string, extraArgs: ConfigDocument, path = '/etc/oidc/file') =>
  configProblems('controlplane', [
    {
      machine: { files: [{ path: '/var/lib/oidc/file', op: 'create', permissions: 0o644, content }] },
      cluster: {
        apiServer: {
          extraArgs: Object.fromEntries(Object.entries(extraArgs).map(([name, value]) => [name, value ?? path])),
          extraVolumes: [{ hostPath: '/var/lib/oidc', mountPath: '/etc/oidc', readonly: true }],
        },
      },
    },
  ]);

describe('OIDC trust by arguments in a patch', () => {
  it('is accepted when kube-apiserver starts with it', () => {
    const all = {
      ...issuer,
      'oidc-username-claim': 'email',
      'oidc-username-prefix': 'corp:',
      'oidc-groups-claim': 'groups',
      'oidc-groups-prefix': 'corp:',
      'oidc-required-claim': 'hd=example.org',
      'oidc-signing-algs': 'RS256,ES256',
    };
    expect(flags(all)).toEqual([]);
    expect(flags(issuer)).toEqual([]);
    expect(withFile(certificate, { ...issuer, 'oidc-ca-file': undefined })).toEqual([]);
  });

  it.each<[string, ConfigDocument, RegExp]>([
    [
      'an issuer that Go cannot parse',
      { ...issuer, 'oidc-issuer-url': 'https://a%41b.example/' },
      /oidc-issuer-url: The host/,
    ],
    ['no client', { 'oidc-issuer-url': 'https://id.example.org' }, /oidc-client-id are required/],
    ['a claim alone', { 'oidc-username-claim': 'sub' }, /oidc-client-id are required/],
    ['an unknown argument', { ...issuer, 'oidc-prefix': 'x' }, /oidc-prefix is not an argument/],
    ['a variable', { ...issuer, 'oidc-client-id': '$(HOME)' }, /oidc-client-id: It must not contain \$/],
    ['an invalid algorithm', { ...issuer, 'oidc-signing-algs': 'none' }, /oidc-signing-algs: /],
    ['a requirement without a value', { ...issuer, 'oidc-required-claim': 'hd' }, /oidc-required-claim: /],
    ['no prefix for users', { ...issuer, 'oidc-username-prefix': '-' }, /oidc-username-prefix must prevent .*system:/],
    [
      'email addresses without a prefix',
      { ...issuer, 'oidc-username-claim': 'email' },
      /oidc-username-prefix must prevent/,
    ],
    ['groups without a prefix', { ...issuer, 'oidc-groups-claim': 'groups' }, /oidc-groups-prefix must prevent/],
    [
      'half of a prefix of Kubernetes',
      { ...issuer, 'oidc-groups-claim': 'g', 'oidc-groups-prefix': 'sys' },
      /oidc-groups-prefix/,
    ],
    [
      'a missing file',
      { ...issuer, 'oidc-ca-file': '/etc/nothing.crt' },
      /oidc-ca-file: the file is not in machine\.files/,
    ],
    [
      'both forms',
      { ...issuer, 'authentication-config': '/etc/x' },
      /authentication-config and oidc-\* arguments exclude/,
    ],
  ])('%s is rejected, with the path', (_, extraArgs, sentence) => {
    expect(flags(extraArgs).join('\n')).toMatch(sentence);
  });

  it("the issuer of the cluster's own ServiceAccounts is rejected", () => {
    const [own] = flags({ ...issuer, 'service-account-issuer': 'https://id.example.org' });
    expect(own).toMatch(/^cluster\.apiServer\.extraArgs\.oidc-issuer-url: It is the ServiceAccount issuer/);
  });

  it('a damaged bundle is rejected', () => {
    const damaged = certificate.replace(/\n[^\n]{30}/, `\n${'A'.repeat(30)}`);
    expect(withFile(damaged, { ...issuer, 'oidc-ca-file': undefined })).toEqual([
      expect.stringMatching(/^cluster\.apiServer\.extraArgs\.oidc-ca-file: It contains no valid certificate/),
    ]);
  });
});

describe('by a file', () => {
  const file = (jwt: unknown, more: ConfigDocument = {}) =>
    JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt, ...more });
  const claimMappings = { username: { claim: 'sub', prefix: 'corp:' } };
  const one = (url: string) => [{ issuer: { url, audiences: ['kube'] }, claimMappings }];
  const evaluate = (text: string) => withFile(text, { 'authentication-config': undefined });

  it('the same rules apply', () => {
    expect(evaluate(file(one('https://id.example.org')))).toEqual([]);
    expect(evaluate(file(one('https://a.b/x%')))).toEqual([expect.stringContaining('jwt[0].issuer.url: The path')]);
    expect(evaluate('nothing: [')).toEqual([expect.stringContaining('is not an AuthenticationConfiguration')]);
    expect(evaluate(file([], { anonymous: { enabled: true } }))).toEqual([expect.stringContaining('anonymous')]);
    expect(withFile('', { 'authentication-config': undefined }, '/etc/oidc/other')).toEqual([
      expect.stringContaining('the file is not in machine.files'),
    ]);
  });
});

describe('by a document', () => {
  const evaluate = (configuration: unknown) =>
    configProblems('controlplane', [configDocument('KubeAuthenticationConfig', { configuration })], {
      talosVersion: '1.14.0',
    });
  const anonymous = { enabled: true };

  it('the same rules apply', () => {
    const issuerOf = (url: string) => ({ url, audiences: ['kube'] });
    const claimMappings = { username: { claim: 'sub', prefix: '' } };
    expect(evaluate({ anonymous, jwt: [{ issuer: issuerOf('https://a.b/%zz'), claimMappings }] })).toEqual([
      expect.stringMatching(/^KubeAuthenticationConfig\.configuration\.jwt\[0\]\.issuer\.url: The path/),
      expect.stringMatching(
        /^KubeAuthenticationConfig\.configuration\.jwt\[0\]\.claimMappings\.username can give names/,
      ),
    ]);
    expect(evaluate({ anonymous, jwts: [] })).toEqual([expect.stringContaining('configuration.jwts is not supported')]);
  });
});
