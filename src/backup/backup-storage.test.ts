import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ReceivedRequest,
  type ScriptedHttpServer,
  startScriptedHttpServer,
} from '../../test/support/harness/scripted-http-server.ts';
import { ProviderError } from '../lib/errors.ts';
import { SecretString } from '../lib/secret-string.ts';
import { BackupStorage } from './backup-storage.ts';
import { type ContentProducer, encryptContent } from './encrypt.ts';

let server: ScriptedHttpServer | undefined;
let storage: BackupStorage | undefined;
const pauses: number[] = [];
const recipients = [await identityToRecipient(await generateIdentity())];

afterEach(async () => {
  await storage?.close();
  await server?.close();
  pauses.length = 0;
  sent = 0;
});

type Handler = (received: ReceivedRequest, response: ServerResponse, nth: number) => void;

async function open(handle: Handler): Promise<BackupStorage> {
  server = await startScriptedHttpServer(handle);
  storage = new BackupStorage(
    {
      ...{ endpoint: server.url, bucket: 'b', region: 'auto', credentials: 'keys' },
      accessKeyId: new SecretString('id'),
      secretAccessKey: new SecretString('the-secret-key'),
    },
    { clock: { sleep: async (ms) => void pauses.push(ms) }, signal: new AbortController().signal },
  );
  return storage;
}

const answer = (response: ServerResponse, status: number, body = '', headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'text/xml; charset=utf-8', ...headers }).end(body);
};
const error = (code: string): string => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>x</Message></Error>`;

/** A server that takes one upload. `end` answers its completion; `size` is what it has in the end. */
const takeUpload =
  (end: (response: ServerResponse) => void, size: (sent: number) => number | undefined, etag?: string): Handler =>
  ({ method, query, headers }, response) => {
    if (method === 'POST' && query.has('uploads'))
      return answer(
        response,
        200,
        '<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>',
      );
    if (method === 'PUT') {
      sent += Number(headers['content-length']);
      return answer(response, 200, '', {
        etag: `"${Buffer.from(String(headers['content-md5']), 'base64').toString('hex')}"`,
      });
    }
    if (method === 'POST') return end(response);
    const bytes = size(sent);
    if (method === 'HEAD' && bytes !== undefined)
      return void response.writeHead(200, { 'content-length': String(bytes), etag: etag ?? '"opaque"' }).end();
    return answer(response, method === 'HEAD' ? 404 : 204);
  };
let sent = 0;
const upload = async (
  at: BackupStorage,
  produce: ContentProducer = async (write) => await write(Buffer.alloc(100_000)),
) => await at.upload('k', await encryptContent(recipients, produce));
const complete = '<CompleteMultipartUploadResult><ETag>"opaque"</ETag></CompleteMultipartUploadResult>';
const calls = () => server?.received.map(({ method, query }) => `${method} ${[...query.keys()].join()}`.trim());

describe('a request', () => {
  it('is repeated after an answer that passes, and signed with the key that is never sent', async () => {
    const at = await open((_, response, nth) =>
      nth < 3 ? answer(response, 503, error('SlowDown')) : answer(response, 200),
    );
    await at.put('k', Buffer.from('text'));
    expect(calls()).toEqual(['PUT', 'PUT', 'PUT']);
    expect(pauses).toHaveLength(2);
    const { path, headers } = server?.received[0] ?? {};
    expect(path).toBe('/b/k');
    expect(headers?.['content-md5']).toBe(createHash('md5').update('text').digest('base64'));
    expect(headers?.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=id\/\d{8}\/auto\/s3\/aws4_request, /);
    expect(JSON.stringify(server?.received.map((one) => one.headers))).not.toContain('the-secret-key');
  });

  it.each([
    [503, 'SlowDown', 'S3_FAILED', /503 SlowDown/],
    [
      403,
      'AccessDenied',
      'CREDENTIALS_REFUSED',
      /Allow the key of Secret keys to list, read, write and delete objects of bucket b/,
    ],
    [403, 'RequestTimeTooSkewed', 'S3_REFUSED', /Correct the clock/],
    [400, 'AuthorizationHeaderMalformed', 'S3_REFUSED', /s3\.region: .*Set it to the region of the bucket/],
    [301, 'PermanentRedirect', 'S3_REFUSED', /s3\.region/],
    [404, 'NoSuchBucket', 'S3_REFUSED', /s3\.bucket: .* has no bucket b\. Create it/],
    [400, 'EntityTooLarge', 'S3_REFUSED', /spec\.backup\.s3: The S3 server answers 400 EntityTooLarge/],
  ])('that is answered with %i %s fails with %s', async (status, code, name, message) => {
    const at = await open((_, response) => answer(response, status, error(code)));
    await expect(at.put('k', Buffer.from('text'))).rejects.toMatchObject({
      code: name,
      message: expect.stringMatching(message),
    });
  });

  it.each([
    ['a web page', '<html><body>Welcome</body></html>'],
    ['more than a list can be', 'x'.repeat(3 * 1024 * 1024)],
  ])('to what answers %s fails', async (_, page) => {
    const at = await open((__, response) => answer(response, 200, page));
    await expect(upload(at)).rejects.toThrow(/s3\.endpoint: this is no S3 server\. Correct the URL/);
  });
});

describe('an upload', () => {
  it('whose completion is lost exists if the server has all of it', async () => {
    const at = await open(
      takeUpload(
        (response) => response.destroy(),
        (bytes) => bytes,
      ),
    );
    expect(await upload(at)).toMatchObject({ bytes: sent, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  });

  it.each<[string, Parameters<typeof takeUpload>]>([
    ['a success with an error inside', [(response) => answer(response, 200, error('InternalError')), () => undefined]],
    ['an error', [(response) => answer(response, 500, error('InternalError')), () => undefined]],
    ['another size', [(response) => answer(response, 200, complete), (bytes) => bytes - 1]],
    ['another content', [(response) => answer(response, 200, complete), (bytes) => bytes, `"${'0'.repeat(32)}-1"`]],
  ])('whose completion ends with %s fails and is removed', async (_, script) => {
    const at = await open(takeUpload(...script));
    await expect(upload(at)).rejects.toMatchObject({ code: 'S3_FAILED' });
    expect(calls()?.slice(-1)).toEqual(['DELETE uploadId']);
  });

  it('sends two parts at a time, and names them in their order, whichever is stored first', async () => {
    const take = takeUpload(
      (response) => answer(response, 200, complete),
      (bytes) => bytes,
    );
    let answerFirst = (): void => {};
    const at = await open((received, response, nth) => {
      const part = received.method === 'PUT' ? received.query.get('partNumber') : undefined;
      if (part === '1') answerFirst = () => take(received, response, nth);
      else take(received, response, nth);
      if (part === '2') setImmediate(() => answerFirst());
    });
    // The first part is answered only after the second one has arrived.
    expect(await upload(at, (write) => write(Buffer.alloc(15 * 2 ** 20)))).toMatchObject({ bytes: sent });
    const completion = server?.received.find(({ method, body }) => method === 'POST' && body !== '')?.body ?? '';
    expect([...completion.matchAll(/<PartNumber>(\d)<\/PartNumber>/g)].map(([, number]) => number)).toEqual([
      ...['1', '2', '3', '4'],
    ]);
    const md5s = server?.received
      .filter(({ method }) => method === 'PUT')
      .sort((a, b) => Number(a.query.get('partNumber')) - Number(b.query.get('partNumber')))
      .map(({ headers }) => Buffer.from(String(headers['content-md5']), 'base64').toString('hex'));
    expect([...completion.matchAll(/<ETag>(?:"|&quot;)?([0-9a-f]+)/g)].map(([, etag]) => etag)).toEqual(md5s);
  });

  it.each<[string, (write: Parameters<ContentProducer>[0]) => Promise<void>]>([
    ['before the first piece', async () => {}],
    ['after some pieces', async (write) => await write(Buffer.alloc(100_000))],
    ['after a whole part', async (write) => await write(Buffer.alloc(9 * 2 ** 20))],
  ])('whose content fails %s fails with that error, and not with one of the bucket', async (_, begin) => {
    const at = await open(
      takeUpload(
        (response) => answer(response, 200, complete),
        (bytes) => bytes,
      ),
    );
    const failure = new ProviderError('TALOS_UNREACHABLE', '10.0.0.2 (ECONNRESET).');
    const failed = upload(at, async (write) => {
      await begin(write);
      throw failure;
    });
    await expect(failed).rejects.toBe(failure);
    expect(calls()?.slice(-1)).toEqual(['DELETE uploadId']);
  });

  it('that the bucket refuses fails with the error of the bucket, also if the content ends with another one', async () => {
    const refuse = takeUpload(
      (response) => answer(response, 200, complete),
      () => undefined,
    );
    const at = await open((received, response, nth) =>
      received.method === 'PUT' ? answer(response, 403, error('AccessDenied')) : refuse(received, response, nth),
    );
    const failed = upload(at, async (write) => {
      try {
        for (;;) await write(Buffer.alloc(1024 * 1024));
      } catch {
        throw new ProviderError('TALOS_CALL_FAILED', 'the stream was stopped.');
      }
    });
    await expect(failed).rejects.toMatchObject({
      code: 'CREDENTIALS_REFUSED',
      message: expect.stringMatching(/spec\.backup\.s3\.credentialsRef: .*403 AccessDenied/),
    });
  });

  it('whose content the server has not kept is reported without a setting to change', async () => {
    const at = await open(
      takeUpload(
        (response) => answer(response, 200, complete),
        (bytes) => bytes - 1,
      ),
    );
    await expect(upload(at)).rejects.toThrow(
      /^The S3 server for backups has failed\. The provider retries\. k has \d+ bytes/,
    );
  });
});

describe('an object that is read', () => {
  it('ends with an error of the bucket when the connection breaks', async () => {
    const at = await open((_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write(Buffer.alloc(100), () => void response.destroy());
    });
    const found = await at.read('k');
    expect(found?.bytes).toBe(1000);
    await expect(new Response(found?.content).arrayBuffer()).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringMatching(/s3\.endpoint: .* Check the URL/),
    });
  });

  it('is undefined if there is none', async () => {
    const at = await open((_, response) => answer(response, 404, error('NoSuchKey')));
    expect(await at.read('k')).toBeUndefined();
  });
});
