import { createHash, createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { findPeer, missingPeers } from './find-peer.ts';
import { awaitPeerReady, freePort, type PeerProcess, startPeerProcess } from './peer-process.ts';
import { createTestAuthority } from './test-authority.ts';

/** A running S3 server with one bucket. */
export interface S3Server {
  readonly endpoint: string;
  /** PEM of the authority that issued its certificate. */
  readonly ca: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** The folder of the bucket: each object is a file. */
  readonly folder: string;
  /** Uploads in parts that were begun and not ended. */
  unfinishedUploads(): Promise<number>;
  stop(): Promise<void>;
}

const patienceSeconds = 30;
const region = 'us-east-1';

/**
 * Starts versitygw over TLS with a certificate of an authority of its own. Resolves when it answers. By default it closes
 * each connection after one request.
 */
export async function startVersitygw(
  host: string,
  folder: string,
  { keepsConnections = false }: { readonly keepsConnections?: boolean } = {},
): Promise<S3Server> {
  const path = findPeer('versitygw');
  if (!path) throw new Error(missingPeers('versitygw'));
  const authority = await createTestAuthority('S3');
  const { cert, key } = await authority.serving([host], []);
  const data = join(folder, 'data');
  const bucket = 'backups';
  for (const one of [join(data, bucket), join(folder, 'sidecar')]) mkdirSync(one, { recursive: true });
  // It changes into its folder before it reads these: the paths must be absolute.
  const [certPath, keyPath] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key, { mode: 0o600 });
  const port = await freePort(host);
  const credentials = { accessKeyId: 'test-access-key', secretAccessKey: 'test-secret-key' };
  const program = startPeerProcess({
    path,
    args: [
      ...['--port', `${host}:${port}`, '--cert', certPath, '--key', keyPath, '--quiet'],
      ...(keepsConnections ? ['--keep-alive'] : []),
      ...['posix', '--sidecar', join(folder, 'sidecar'), data],
    ],
    env: { ...process.env, ROOT_ACCESS_KEY: credentials.accessKeyId, ROOT_SECRET_KEY: credentials.secretAccessKey },
    folder,
  });
  const endpoint = `https://${host}:${port}`;
  const agent = new Agent({ connect: { ca: authority.ca } });
  const ask = async (query: string) => await signedGet(`${endpoint}/${bucket}`, query, credentials, agent);
  await awaitPeerReady(
    'versitygw',
    program,
    patienceSeconds,
    async () => (await ask('uploads=').catch(() => undefined)) !== undefined,
  );
  return {
    ...{ endpoint, ca: authority.ca, bucket, ...credentials, folder: join(data, bucket) },
    unfinishedUploads: async () => (await ask('uploads=')).split('<UploadId>').length - 1,
    stop: async () => await end(program, agent),
  };
}

async function end(program: PeerProcess, agent: Agent): Promise<void> {
  await program.stop();
  await agent.destroy();
}

type Credentials = Pick<S3Server, 'accessKeyId' | 'secretAccessKey'>;

/** A request that the provider's own client has no part in (AWS Signature Version 4). */
async function signedGet(url: string, query: string, credentials: Credentials, agent: Agent): Promise<string> {
  const { host, pathname } = new URL(url);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const hash = createHash('sha256').update('').digest('hex');
  const headers = { host, 'x-amz-content-sha256': hash, 'x-amz-date': time };
  const names = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
  const canonical = ['GET', pathname, query, lines.join(''), names, hash].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
  const steps = [day, region, 's3', 'aws4_request'];
  const start: string | Buffer = `AWS4${credentials.secretAccessKey}`;
  const key = steps.reduce<string | Buffer>((last, step) => createHmac('sha256', last).update(step).digest(), start);
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  const { statusCode, body } = await request(`${url}?${query}`, {
    headers: { ...headers, authorization },
    dispatcher: agent,
  });
  const answer = await body.text();
  if (statusCode !== 200) throw new Error(`versitygw answered ${statusCode}: ${answer}`);
  return answer;
}
