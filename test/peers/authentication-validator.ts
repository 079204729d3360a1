import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPeer, missingPeers } from './find-peer.ts';
import { freePort } from './peer-process.ts';

/** Why a real kube-apiserver cannot validate here, in one sentence; undefined when it can. */
export const missingForAuthenticationValidator = (): string | undefined => missingPeers('kube-apiserver');

/** kube-apiserver accepts no more authenticators; one slot is used by the entry that prevents its start. */
export const maxAuthenticatorsAtOnce = 63;

/** The error for an entry that prevents the start. */
const canary = {
  issuer: { url: 'http://canary.example.org', audiences: ['any'] },
  claimMappings: { username: { claim: 'sub', prefix: '' } },
};

/**
 * The errors of a real kube-apiserver for authenticators of an AuthenticationConfiguration, by their index; undefined
 * for a valid one. The server reports all errors at once and exits before it connects to etcd, so a call takes 0.2 s.
 */
export async function validateAuthenticators(authenticators: readonly object[]): Promise<(string | undefined)[]> {
  if (authenticators.length > maxAuthenticatorsAtOnce) throw new Error(`at most ${maxAuthenticatorsAtOnce} at once`);
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1beta1',
    kind: 'AuthenticationConfiguration',
    jwt: [...authenticators, canary],
  };
  const output = await runOnce((folder) => {
    const file = join(folder, 'authentication.json');
    writeFileSync(file, JSON.stringify(configuration));
    return [`--authentication-config=${file}`];
  });
  const problems = new Map<number, string>();
  for (const part of output.split(/(?=\bjwt\[\d+\]\.)/).slice(1))
    problems.set(Number(part.slice(4).split(']')[0]), part);
  if (!problems.has(authenticators.length)) throw new Error(`kube-apiserver did not judge: ${output}`);
  return authenticators.map((_, i) => problems.get(i));
}

/**
 * The error of a real kube-apiserver for these arguments; undefined when it creates an authenticator from them. A valid
 * issuer has to be on loopback, because it is contacted at once.
 */
export async function validateAuthenticationArguments(args: readonly string[]): Promise<string | undefined> {
  const output = await runOnce(() => args);
  return /"command failed" err="?<?\s*([^\n]*)/.exec(output)?.[1];
}

/** Starts it without an etcd, with the flags that it needs to reach the validation. */
async function runOnce(describe: (folder: string) => readonly string[]): Promise<string> {
  const path = findPeer('kube-apiserver');
  if (!path) throw new Error(missingForAuthenticationValidator());
  const folder = mkdtempSync(join(tmpdir(), 'judge-'));
  try {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const key = join(folder, 'service-account.key');
    writeFileSync(key, privateKey, { mode: 0o600 });
    const args = [
      `--etcd-servers=http://127.0.0.1:${await freePort('127.0.0.1')}`,
      `--cert-dir=${folder}`,
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--service-account-issuer=https://own.example.org',
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.96.0.0/16',
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--secure-port=${await freePort('127.0.0.1')}`,
      ...describe(folder),
    ];
    return await outputOf(path, args);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Logged after an authenticator was created, when no rejection is possible any more. */
const authenticatorCreated = /OIDC: No x509 certificates provided/;
const patienceMs = 60_000;

/** The output of a program until it exits, or until it has created an authenticator. */
async function outputOf(path: string, args: readonly string[]): Promise<string> {
  const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: patienceMs, killSignal: 'SIGKILL' });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
    if (authenticatorCreated.test(output)) child.kill('SIGKILL');
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  return output;
}
