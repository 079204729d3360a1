import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueServingCertificate } from '../../../test/world/truenas/protocol/serving-certificate.ts';
import { deadlineSignal } from '../deadline.ts';
import { CertificatePin, fetchFingerprint, fingerprintPattern, normalizeFingerprint } from './certificate-pin.ts';
import { createHttpAgent, sendHttpRequest } from './http.ts';

const bytes = Array.from({ length: 32 }, (_, i) => (i * 7 + 9).toString(16).padStart(2, '0').toUpperCase());
const spelled = bytes.join(':');

describe('a fingerprint', () => {
  it.each([
    ['as Firefox and openssl show it', spelled],
    ['as openssl prints it', `sha256 Fingerprint=${spelled}`],
    ['as older ones print it', `SHA256 Fingerprint=${spelled}`],
    ['as Chrome shows it', bytes.join('').toLowerCase()],
    ['as Windows shows it', bytes.join(' ')],
    ['with its kind', `SHA256:${bytes.join('')}`],
  ])('is parsed: %s', (_, text) => {
    expect(fingerprintPattern.test(text)).toBe(true);
    expect(normalizeFingerprint(text)).toBe(spelled);
  });

  it.each([
    ['SHA-1', bytes.slice(0, 20).join(':')],
    ['in base64, which is that of a key', 'sha256//2mO7bq2nzdJcQY8JvV8Wc0Vw4o0G4oP0W3S9b7Zt7Rk='],
    ['too long', `${spelled}:00`],
    ['cut short', spelled.slice(0, -1)],
    ['empty', ''],
  ])('is rejected: %s', (_, text) => {
    expect(fingerprintPattern.test(text)).toBe(false);
  });
});

describe('a server with an untrusted certificate for another name', () => {
  let server: ReturnType<typeof createServer>;
  let host: string;
  let own: string;
  const received: string[] = [];

  beforeAll(async () => {
    const certificate = await issueServingCertificate('somewhere.else', 'nobody');
    own = new X509Certificate(certificate.cert).fingerprint256;
    server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
      received.push(String(request.headers.authorization));
      response.end('here');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const ask = async (pin: CertificatePin) => {
    const agent = createHttpAgent({ pin });
    try {
      const signal = deadlineSignal(10);
      // Twice: the second connection could resume the session of the first.
      for (const _ of [1, 2]) {
        const reply = await sendHttpRequest(`https://${host}`, {
          agent,
          signal,
          headers: { authorization: 'k', connection: 'close' },
        });
        await reply.text();
      }
      return 'answered';
    } catch (error) {
      return error;
    } finally {
      await agent.destroy();
    }
  };

  it('is trusted by its fingerprint', async () => {
    expect(await ask(new CertificatePin(own.replaceAll(':', '').toLowerCase()))).toBe('answered');
    expect(received).toEqual(['k', 'k']);
  });

  it('receives nothing when it presents another certificate, which the error names', async () => {
    received.length = 0;
    const error = await ask(new CertificatePin(spelled));
    expect(error).toMatchObject({
      code: 'TLS_FINGERPRINT_DIFFERS',
      detail: `The fingerprint is ${own}, not ${spelled}.`,
    });
    expect(received).toEqual([]);
  });

  it('presents its fingerprint to a client that asks for it', async () => {
    expect(await fetchFingerprint(host, deadlineSignal(10))).toBe(own);
  });
});
