import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { SecretString } from '../../lib/secret-string.ts';
import { placeholderText } from '../secrets/placeholder-bundle.ts';
import { maskSecrets } from './mask-secrets.ts';

const hidden = 'hunter2hunter2';
const mask = (document: unknown): string => maskSecrets(new SecretString(stringify(document)));

describe('a masked configuration', () => {
  it.each([
    { machine: { token: hidden } },
    { machine: { ca: { key: hidden } } },
    { cluster: { secretboxEncryptionSecret: hidden } },
    { machine: { registries: { config: { 'ghcr.io': { auth: { username: 'u', password: hidden } } } } } },
    { machine: { registries: { config: { 'ghcr.io': { auth: { identityToken: hidden, auth: hidden } } } } } },
    { machine: { files: [{ path: '/var/x', content: `a\n${hidden}\nb` }] } },
    { machine: { env: { https_proxy: `http://user:${hidden}@proxy:3128`, GITHUB_TOKEN: hidden } } },
    { cluster: { inlineManifests: [{ name: 'n', contents: `kind: Secret\nstringData: {x: ${hidden}}` }] } },
    { kind: 'ExtensionServiceConfig', name: 'tailscale', environment: [`TS_AUTHKEY=${hidden}`] },
    { kind: 'WireguardConfig', privateKey: hidden, peers: [{ presharedKey: hidden }] },
    { machine: { env: { https_proxy: hidden, SOME_NAME: `a ${hidden}` } } },
    { cluster: { apiServer: { env: { ETCD_PASS: 'a', OTHER: hidden } } } },
    { kind: 'EnvironmentConfig', variables: { FOO: hidden } },
    { kind: 'ExtensionServiceConfig', name: 'x', environment: [`FOO=${hidden}`, hidden] },
    { kind: 'ContainerConfig', name: 'x', environment: [`FOO=${hidden}`], args: [`--token=${hidden}`] },
    { cluster: { extraManifestHeaders: { 'X-Any': hidden } } },
    {
      kind: 'KubeExternalManifestConfig',
      name: 'x',
      url: `https://u:a@${hidden}@h.example/`,
      headers: { Cookie: hidden },
    },
    { kind: 'SideroLinkConfig', apiUrl: `https://h.example/?jointoken=${hidden}&x=1` },
    { machine: { registries: { config: { 'ghcr.io': { auth: { username: hidden } } } } } },
    { machine: { token: { nested: [{ deep: hidden }] } } },
    { machine: { kubelet: { credentialProviderConfig: { providers: [{ name: 'x', args: [hidden] }] } } } },
    { kind: 'Any', passwords: [hidden, { a: hidden }] },
    { kind: 'Any', secretList: [1234567, hidden] },
    { machine: { ca: { key: [hidden] } } },
    { kind: 'VolumeConfig', encryption: { keys: [{ slot: 0, static: { passphrase: hidden } }] } },
  ])('contains no secret: %j', (document) => {
    const text = mask(document);
    expect(text).not.toContain(hidden);
    expect(parseAllDocuments(text)).toHaveLength(1);
  });

  it('hides the value of an alias', () => {
    const text = maskSecrets(new SecretString(`any: &one {a: ${hidden}}\nmachine:\n  token: *one\n`));
    expect(text).toContain('token: (secret)');
    const other = maskSecrets(new SecretString(`machine:\n  token: &one ${hidden}\nany: *one\n`));
    expect(other).not.toContain(hidden);
  });

  it('shows the names of variables, and no value', () => {
    expect(mask({ machine: { env: { http_proxy: 'http://proxy:3128', NO_PROXY: '' } } })).toBe(
      '---\nmachine:\n  env:\n    http_proxy: (not shown)\n    NO_PROXY: ""\n',
    );
    expect(mask({ kind: 'ExtensionServiceConfig', environment: ['A=b=c'] })).toContain('- A=(not shown)');
  });

  it('labels the values that are created with the cluster', () => {
    const ca = { crt: Buffer.from(placeholderText).toString('base64'), key: placeholderText };
    expect(mask({ cluster: { id: placeholderText, ca } })).toBe(
      '---\ncluster:\n  id: (made with the cluster)\n  ca:\n    crt: (made with the cluster)\n    key: (made with the cluster)\n',
    );
  });

  it('is otherwise unchanged', () => {
    const document = {
      machine: {
        type: 'controlplane',
        kubelet: { extraConfig: { registerWithTaints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] } },
        files: [{ path: '/etc/x', permissions: 0o644 }],
        install: { image: 'factory.talos.dev/nocloud-installer/abc:v1.13.9' },
      },
      cluster: { apiServer: { extraArgs: { 'authorization-mode': 'RBAC' } }, token: '' },
    };
    expect(mask(document)).toBe(`---\n${stringify(document)}`);
  });
});
