import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../test/support/manual-clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { createApiServerConnection, loadApiServerConnection } from './api-server-connection.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'connection-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const put = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** A kubeconfig with one cluster, one user and one context. */
const kubeconfig = (user: unknown, cluster: Record<string, unknown> = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'home' } }],
    'current-context': 'x',
  });

const rejection = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof ProviderError && error.code === 'CONFIG_INVALID') {
      expect(inspect(error, { depth: 9 })).not.toContain('s3cret');
      return error.message;
    }
    throw error;
  }
  throw new Error('it was accepted');
};

describe('a kubeconfig', () => {
  it('provides server, namespace, certificates and headers', async () => {
    const text = kubeconfig(
      { 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY'), as: 'boss', 'as-groups': ['g'] },
      { 'certificate-authority-data': base64('CA'), 'tls-server-name': 'kubernetes' },
    );
    const connection = loadApiServerConnection({ text: new SecretString(text) });
    expect([connection.server, connection.namespace]).toEqual(['https://10.0.0.1:6443', 'home']);
    const { tls, headers } = await connection.credentials();
    expect(tls).toEqual({
      ca: Buffer.from('CA'),
      cert: Buffer.from('CERT'),
      key: Buffer.from('KEY'),
      servername: 'kubernetes',
    });
    expect(headers).toEqual({ 'impersonate-user': 'boss', 'impersonate-group': ['g'] });
  });

  it('resolves relative paths, and reads a token file again after five seconds and after a 401', async () => {
    put('ca.pem', 'CA');
    put('token', 'one\n');
    const path = put('kubeconfig', kubeconfig({ tokenFile: 'token' }, { 'certificate-authority': 'ca.pem' }));
    for (const given of [path, folder]) {
      put('token', 'one\n');
      const clock = new ManualClock();
      const connection = loadApiServerConnection({ path: given, clock });
      const first = await connection.credentials();
      expect([first.tls.ca?.toString(), first.headers]).toEqual(['CA', { authorization: 'Bearer one' }]);
      put('token', 'two');
      expect(await connection.credentials()).toBe(first);
      await clock.advance(5000);
      expect((await connection.credentials()).headers).toEqual({ authorization: 'Bearer two' });
      put('token', 'three');
      connection.invalidate();
      expect((await connection.credentials()).headers).toEqual({ authorization: 'Bearer three' });
    }
  });

  it('runs a credential plug-in once for many calls, again after a minute, and again after a 401', async () => {
    const plugin = put(
      'plugin',
      `#!/bin/sh
echo x >> ${folder}/runs
n=$(wc -l < ${folder}/runs)
case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 1 ;; esac
echo "{\\"kind\\":\\"ExecCredential\\",\\"status\\":{\\"token\\":\\"t$((n))\\"}}"
`,
    );
    chmodSync(plugin, 0o755);
    const clock = new ManualClock();
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' };
    const connection = loadApiServerConnection({ text: new SecretString(kubeconfig({ exec })), clock });
    const tokens = async () => (await connection.credentials()).headers['authorization'];
    expect(await Promise.all([tokens(), tokens(), tokens()])).toEqual(Array(3).fill('Bearer t1'));
    await clock.advance(61_000);
    expect(await tokens()).toBe('Bearer t2');
    connection.invalidate();
    expect(await tokens()).toBe('Bearer t3');
    expect(await tokens()).toBe('Bearer t3');
  });

  it('works with plain http and with basic authentication', async () => {
    const text = kubeconfig({ username: 'me', password: 'pw' }, { server: 'http://127.0.0.1:8080' });
    const { headers } = await loadApiServerConnection({ text: new SecretString(text) }).credentials();
    expect(headers).toEqual({ authorization: `Basic ${base64('me:pw')}` });
  });

  it.each([
    ['users:\n- name: u\n  user: {token: s3cret}\n x: [', /^(?!.*s3cret).* is not a kubeconfig: .+ in line 4\.$/],
    ['{}', /"current-context" has no cluster/],
    [kubeconfig({}, { server: '' }), /is not a kubeconfig: clusters\[0\].cluster.server is missing/],
    [kubeconfig({}, { server: 'nonsense' }), /server of cluster c is not a URL/],
    [kubeconfig({}, { 'proxy-url': 'socks5://p' }), /"proxy-url" is not supported/],
  ])('with an error is rejected with a message that names the location: %s', (text, sentence) => {
    expect(rejection(() => loadApiServerConnection({ text: new SecretString(text) }))).toMatch(sentence);
  });
});

describe('other sources', () => {
  it('a folder of host, token and ca.crt', async () => {
    put('host', 'https://10.0.0.9:443\n');
    put('token', 'abc\n');
    put('ca.crt', 'CA');
    const connection = loadApiServerConnection({ path: folder });
    expect(connection.server).toBe('https://10.0.0.9:443');
    expect(await connection.credentials()).toEqual({ tls: { ca: 'CA' }, headers: { authorization: 'Bearer abc' } });
  });

  it("a pod's own service account, also with IPv6", async () => {
    put('token', 'abc');
    put('ca.crt', 'CA');
    put('namespace', 'openmcp-system');
    const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const connection = loadApiServerConnection({ path: '', environment, serviceAccountFolder: folder });
    expect([connection.server, connection.namespace]).toEqual(['https://[fd00::1]:443', 'openmcp-system']);
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1').stubEnv('KUBERNETES_SERVICE_PORT', '443');
    expect(loadApiServerConnection({ serviceAccountFolder: folder }).server).toBe('https://10.96.0.1:443');
    vi.unstubAllEnvs();
    put('token', 'def');
    expect((await connection.credentials()).headers).toEqual({ authorization: 'Bearer def' });
  });

  it('files in KUBECONFIG are merged as by kubectl, and precede the home folder and the Pod', async () => {
    mkdirSync(join(folder, '.kube'));
    put('.kube/config', kubeconfig({ token: 'home' }));
    const first = put('first', JSON.stringify({ users: [{ name: 'u', user: { tokenFile: 'token' } }] }));
    const second = put('second', kubeconfig({ token: 's3cret' }, { server: 'https://10.0.0.2' }));
    put('token', 'listed');
    const pod = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '443', HOME: folder };
    const KUBECONFIG = [join(folder, 'missing'), first, second].join(':');
    const listed = loadApiServerConnection({ environment: { ...pod, KUBECONFIG } });
    expect([listed.server, (await listed.credentials()).headers]).toEqual([
      'https://10.0.0.2',
      { authorization: 'Bearer listed' },
    ]);
    const ofHome = loadApiServerConnection({ environment: pod });
    expect((await ofHome.credentials()).headers).toEqual({ authorization: 'Bearer home' });
    put('token', 'pod');
    put('ca.crt', 'CA');
    const other = { ...pod, HOME: join(folder, 'no-home'), KUBECONFIG: join(folder, 'missing') };
    expect(loadApiServerConnection({ environment: other, serviceAccountFolder: folder }).server).toBe(
      'https://10.96.0.1:443',
    );
  });

  it('broken files in KUBECONFIG are not quoted', () => {
    const KUBECONFIG = put('broken', 'users: [s3cret');
    expect(rejection(() => loadApiServerConnection({ environment: { KUBECONFIG } }))).toMatch(
      /KUBECONFIG .* cannot be read.* line/,
    );
  });

  it('missing files are named', () => {
    mkdirSync(join(folder, 'empty'));
    put('host', 'not a url');
    expect(rejection(() => loadApiServerConnection({ path: join(folder, 'nope') }))).toMatch(/nope does not exist/);
    expect(rejection(() => loadApiServerConnection({ path: join(folder, 'empty') }))).toMatch(
      /has neither the file kubeconfig nor the files host/,
    );
    expect(rejection(() => loadApiServerConnection({ path: folder }))).toMatch(/host must contain a URL/);
    expect(rejection(() => loadApiServerConnection({ environment: {} }))).toMatch(
      /KUBERNETES_SERVICE_HOST .* --kubeconfig/,
    );
  });

  it('parts, with the secrets revealed only on request', async () => {
    const parts = { server: 'https://a/', ca: 'CA', cert: 'CERT', key: new SecretString('KEY'), servername: 'n' };
    const connection = createApiServerConnection(parts);
    expect(JSON.stringify(connection)).not.toContain('KEY');
    expect((await connection.credentials()).tls).toEqual({ ca: 'CA', cert: 'CERT', key: 'KEY', servername: 'n' });
  });
});
