import { expect, it } from 'vitest';
import { SecretString } from '../../lib/secret-string.ts';
import { parseEmbeddedKubeconfig } from './embedded-kubeconfig.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const kubeconfig = (cluster: object, user: object): SecretString =>
  new SecretString(
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
      clusters: [{ name: 'it', cluster }],
      users: [{ name: 'it', user }],
      contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
    }),
  );
const cluster = { server: 'https://10.0.0.1:6443', 'certificate-authority-data': base64('authority') };

it('has the server, its authority and the credentials', () => {
  const byToken = parseEmbeddedKubeconfig(kubeconfig(cluster, { token: 'secret' }));
  expect(byToken).toMatchObject({ server: 'https://10.0.0.1:6443', ca: 'authority' });
  expect(byToken.token?.reveal()).toBe('secret');
  const pair = { 'client-certificate-data': base64('certificate'), 'client-key-data': base64('key') };
  const byCertificate = parseEmbeddedKubeconfig(kubeconfig({ ...cluster, 'tls-server-name': 'name' }, pair));
  expect(byCertificate).toMatchObject({ cert: 'certificate', servername: 'name' });
  expect(byCertificate.key?.reveal()).toBe('key');
});

it.each<[string, object, object, RegExp]>([
  ['a command', cluster, { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: 'sh' } }, /exec is not/],
  [
    'an authority in a file',
    { server: cluster.server, 'certificate-authority': '/etc/passwd' },
    { token: 'x' },
    /caFile/,
  ],
  ['a server that is not verified', { ...cluster, 'insecure-skip-tls-verify': true }, { token: 'x' }, /skipTLSVerify/],
  ['a proxy', { ...cluster, 'proxy-url': 'http://proxy' }, { token: 'x' }, /proxyUrl/],
  ['plain HTTP', { server: 'http://10.0.0.1' }, { token: 'x' }, /no https URL/],
  ['half a pair', cluster, { 'client-certificate-data': base64('certificate') }, /neither a token nor/],
  ['a password', cluster, { username: 'u', password: 'p' }, /username and password/],
])('rejects %s', (_, one, user, message) => {
  expect(() => parseEmbeddedKubeconfig(kubeconfig(one, user))).toThrow(message);
});

it('quotes nothing of a text that cannot be parsed', () => {
  expect(() => parseEmbeddedKubeconfig(new SecretString('{secret-of-somebody'))).toThrow(
    /^(?!.*secret-of-somebody).*cannot be parsed/,
  );
});
