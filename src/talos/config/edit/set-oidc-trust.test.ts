import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import {
  describeWithTalosctl,
  describeWithTalosctl114,
  validateWithTalosctl,
} from '../../../../test/talos/talosctl.ts';
import { SecretString } from '../../../lib/secret-string.ts';
import { createCertificateAuthority } from '../../secrets/certificates.ts';
import type { SecretsBundle } from '../../secrets/secrets-bundle.ts';
import { type MachineConfigInput, renderMachineConfig } from '../machine-config.ts';
import { allowsSystemNames } from '../oidc/oidc-grammar.ts';
import { issuerCaPath, type OidcTrust, toOidcArguments } from '../oidc/oidc-trust.ts';
import { setOidcTrust } from './set-oidc-trust.ts';

let bundle: SecretsBundle;
let ca: string;
beforeAll(async () => {
  bundle = await exampleSecretsBundle();
  const life = { notBefore: new Date(), notAfter: new Date(Date.now() + 86_400_000) };
  ca = (await createCertificateAuthority({ keyKind: 'ecdsa-p256', organization: 'issuer', ...life })).certificate;
});

const corp: OidcTrust = {
  issuer: 'https://id.example.org/realm',
  clientIds: ['kube'],
  usernameClaim: 'sub',
  usernamePrefix: 'corp:',
  groupsClaim: 'groups',
  groupsPrefix: 'corp:',
};
const open: OidcTrust = { ...corp, issuer: 'https://open.example.org', usernamePrefix: '', groupsPrefix: '' };

const render = (changes: Partial<MachineConfigInput>): SecretString =>
  renderMachineConfig(exampleConfigInput(bundle, changes));
const read = (config: SecretString) => parseAllDocuments(config.reveal()).map((document) => document.toJS());
const inDocuments = (config: SecretString) =>
  read(config).find(({ kind }) => kind === 'KubeAuthenticationConfig').configuration;

describe('before Talos 1.14', () => {
  it('one issuer is set by arguments, with a dash where Kubernetes would add a default prefix', () => {
    expect(toOidcArguments(open)).toEqual({
      'oidc-issuer-url': 'https://open.example.org',
      'oidc-client-id': 'kube',
      'oidc-username-claim': 'sub',
      'oidc-username-prefix': '-',
      'oidc-groups-claim': 'groups',
      'oidc-signing-algs': 'RS256,RS384,RS512,ES256,ES384,ES512,PS256,PS384,PS512',
    });
    expect(read(render({ trust: [corp] }))[0].cluster.apiServer.extraArgs).toEqual(toOidcArguments(corp));
    expect(() => render({ trust: [open] })).toThrow(/oidc-username-prefix must prevent names/);
  });

  it('its authority is in a file that control planes have from the beginning and that the API server can read', () => {
    const main = read(render({ trust: [{ ...corp, ca }], issuerAuthorities: [ca] }))[0];
    const path = issuerCaPath(ca);
    expect(main.machine.files).toEqual([{ path, op: 'create', permissions: 0o644, content: ca }]);
    expect(main.cluster.apiServer.extraArgs).toMatchObject({
      'oidc-ca-file': path,
      'oidc-username-prefix': 'corp:',
      'oidc-groups-prefix': 'corp:',
    });
    expect(main.cluster.apiServer.extraVolumes).toEqual([
      { hostPath: '/var/lib/oidc-authorities', mountPath: '/var/lib/oidc-authorities', readonly: true },
    ]);
    expect(read(render({ issuerAuthorities: [ca], role: 'worker' }))[0].machine).not.toHaveProperty('files');
  });

  it('a second issuer is rejected', () => {
    expect(() => setOidcTrust(render({}), [corp, open])).toThrow(/supports only one issuer/);
  });
});

describe('from Talos 1.14 on', () => {
  const talosVersion = '1.14.0';

  it('documents configure the API server and permit only health requests without authentication', () => {
    const documents = read(render({ talosVersion }));
    expect(documents[0].cluster).not.toHaveProperty('apiServer');
    expect(documents.slice(2).map(({ kind, name, type }) => [kind, name, type].filter(Boolean).join(' '))).toEqual([
      'KubeAPIServerConfig',
      'KubeAuthenticationConfig',
      'KubeAuthorizerConfig node Node',
      'KubeAuthorizerConfig rbac RBAC',
      'KubeAdmissionControlConfig PodSecurity',
      'KubeAuditPolicyConfig',
    ]);
    expect(inDocuments(render({ talosVersion }))).toEqual({
      anonymous: { enabled: true, conditions: [{ path: '/livez' }, { path: '/readyz' }, { path: '/healthz' }] },
      jwt: [],
    });
    expect(read(render({ talosVersion, role: 'worker' }))).toHaveLength(2);
  });

  it('any number of issuers is trusted, and none can use names of Kubernetes or of another issuer', () => {
    const { jwt } = inDocuments(render({ talosVersion, trust: [{ ...corp, ca }, open] }));
    expect(jwt[0]).toEqual({
      issuer: { url: corp.issuer, certificateAuthority: ca, audiences: ['kube'], audienceMatchPolicy: 'MatchAny' },
      claimMappings: { username: { claim: 'sub', prefix: 'corp:' }, groups: { claim: 'groups', prefix: 'corp:' } },
      userValidationRules: [],
    });
    expect(jwt[1].claimMappings).toEqual({
      username: { claim: 'sub', prefix: '' },
      groups: { claim: 'groups', prefix: '' },
    });
    expect(jwt[1].userValidationRules.map(({ expression }: { expression: string }) => expression)).toEqual([
      '!user.username.startsWith("system:")',
      '!user.username.startsWith("corp:")',
      'user.groups.all(group, !group.startsWith("system:"))',
      'user.groups.all(group, !group.startsWith("corp:"))',
    ]);
  });
});

describe('changing the trust of a running node', () => {
  const forms = [
    { form: 'arguments', talosVersion: '1.13.9', more: [] },
    { form: 'documents', talosVersion: '1.14.0', more: [open] },
  ] as const;

  it.each(forms)('as $form equals the configuration of a new node, and a second change does nothing', (given) => {
    const { talosVersion, more } = given;
    const trust = [corp, ...more];
    const changed = setOidcTrust(render({ talosVersion }), trust);
    expect(changed && read(changed)).toEqual(read(render({ talosVersion, trust })));
    expect(changed && setOidcTrust(changed, trust)).toBeUndefined();
    const back = changed && setOidcTrust(changed, []);
    expect(back && read(back)).toEqual(read(render({ talosVersion })));
    expect(setOidcTrust(render({ talosVersion }), [])).toBeUndefined();
  });

  it('keeps the text of every other value, also of values that YAML parsers read differently', () => {
    const text = render({})
      .reveal()
      .replace('machine:\n', 'machine:\n  sysctls:\n    a: on\n    b: 0644 # kept\n    c: 1_000\n    d: ~\n');
    const changed = setOidcTrust(new SecretString(text), [corp])?.reveal() ?? '';
    expect(changed).toContain('    a: on\n    b: 0644 # kept\n    c: 1_000\n    d: ~\n');
    const back = setOidcTrust(new SecretString(changed), [])?.reveal();
    const collectGarbage = (one: string | undefined) =>
      parseAllDocuments(one ?? '', { schema: 'failsafe' }).map((document) => document.toJS());
    expect(collectGarbage(back)).toEqual(collectGarbage(text));
  });

  it('keeps other arguments of the API server', () => {
    const document = { cluster: { apiServer: { extraArgs: { 'feature-gates': 'A=true' } } } };
    const config = render({ patches: [{ from: 'p', document }] });
    const changed = setOidcTrust(config, [corp]);
    expect(changed && read(changed)[0].cluster.apiServer.extraArgs).toMatchObject({ 'feature-gates': 'A=true' });
    const back = changed && setOidcTrust(changed, []);
    expect(back && read(back)).toEqual(read(config));
  });

  it('supports any characters in claims and prefixes', () => {
    const letters = Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i)).filter((one) => one !== '$');
    const text = fc
      .string({ minLength: 1, maxLength: 12, unit: fc.constantFrom(...letters) })
      .filter((one) => one !== '-' && !allowsSystemNames(one));
    const any = fc.record({ usernameClaim: text, usernamePrefix: text, groupsClaim: text, groupsPrefix: text });
    fc.assert(
      fc.property(any, fc.constantFrom('1.13.9', '1.14.0'), (words, talosVersion) => {
        const trust = [{ ...corp, ...words }];
        const changed = setOidcTrust(render({ talosVersion }), trust);
        expect(changed && read(changed)).toEqual(read(render({ talosVersion, trust })));
      }),
      { numRuns: 40 },
    );
  });
});

const assessed = (talosVersion: string, trust: readonly OidcTrust[]) => {
  const issuerAuthorities = talosVersion.startsWith('1.14') ? [] : [ca];
  const config = render({ talosVersion, trust, issuerAuthorities });
  return [config, ...[setOidcTrust(config, [])].filter((one) => one !== undefined)].map((one) => one.reveal());
};

describeWithTalosctl((talosctl) => {
  it('is valid, before and after a change', () => {
    for (const config of assessed('1.13.9', [{ ...corp, ca }]))
      for (const mode of ['metal', 'cloud'] as const) expect(validateWithTalosctl(talosctl, mode, config)).toBe('');
  });
});
describeWithTalosctl114((talosctl) => {
  it('is valid as documents, before and after a change', () => {
    for (const config of assessed('1.14.0', [{ ...corp, ca }, open]))
      for (const mode of ['metal', 'cloud'] as const) expect(validateWithTalosctl(talosctl, mode, config)).toBe('');
  });
});
