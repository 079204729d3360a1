import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { schematicVectors } from '../../../test/support/fixtures/schematic-vectors.ts';
import type { Schematic } from '../../engine/node.ts';
import { type Log, noLog } from '../../lib/log.ts';
import {
  computeSchematicId,
  diskImageUrl,
  downloadImage,
  ensureSchematic,
  findChecksum,
  findImageSize,
  installerImage,
  isoUrl,
} from './client.ts';
import { formatCanonicalSchematic } from './schematic.ts';

const { signal } = new AbortController();
const agent: Schematic = { extensions: ['siderolabs/qemu-guest-agent'], kernelArguments: [] };
const agentId = 'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515';

describe('the id of a schematic', () => {
  it.each<[string, Schematic, string]>([
    [
      'nothing',
      { extensions: [], kernelArguments: [] },
      '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba',
    ],
    [
      'arguments',
      { extensions: [], kernelArguments: ['noapic', 'nolapic'] },
      '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
    ],
    [
      'an argument with a value',
      { extensions: [], kernelArguments: ['vga=791'] },
      'eea1f9534c46d95c4715a2f13d17eacb927c13a42ef087c79b22c3bd0c49d073',
    ],
    ['an extension', agent, agentId],
    [
      'two extensions',
      { extensions: ['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools'], kernelArguments: [] },
      '6ebbfe35c8225645c05d4d19eaad385bd1ec795954932d0ada671388272fec19',
    ],
  ])("equals the factory's id for %s", (_, schematic, id) => {
    expect(computeSchematicId(schematic)).toBe(id);
  });

  it.each(schematicVectors)('equals the id from Go for $title', ({ extensions, kernelArguments, id }) => {
    expect(computeSchematicId({ extensions, kernelArguments })).toBe(id);
  });

  it('changes with the order of extensions, which is the order of layers', () => {
    expect(computeSchematicId({ extensions: ['a/b', 'c/d'], kernelArguments: [] })).not.toBe(
      computeSchematicId({ extensions: ['c/d', 'a/b'], kernelArguments: [] }),
    );
  });

  it.each([
    ['-console', '-console'],
    ['talos.config=https://h/?u=a&v=b', 'talos.config=https://h/?u=a&v=b'],
    ['console=ttyS0,115200n8', 'console=ttyS0,115200n8'],
    ['123', '"123"'],
    ['0x1f', '"0x1f"'],
    ['1e3', '"1e3"'],
    ['1:30', '"1:30"'],
    ['on', '"on"'],
    ['2026-01-01', '"2026-01-01"'],
    ['face', 'face'],
    ['a: b', "'a: b'"],
    ['a #b', "'a #b'"],
    ['*x', "'*x'"],
    ["'x'", "'''x'''"],
    ['=', '='],
    ['-{a', '-{a'],
    ['---a', "'---a'"],
    ['straße', 'straße'],
    ['4e803', '4e803'],
  ])('writes the argument %s as Go does', (argument, written) => {
    const text = formatCanonicalSchematic({ extensions: [], kernelArguments: [argument] });
    expect(text).toBe(`customization:\n    extraKernelArgs:\n        - ${written}\n`);
  });
});

describe('image URLs and names', () => {
  const image = {
    factoryUrl: 'https://factory.example.org/',
    platform: 'nocloud' as const,
    schematicId: agentId,
    version: '1.13.9',
  };

  it('identify the ISO, the disk image and the installer of one platform, schematic and version', () => {
    expect(isoUrl(image)).toBe(`https://factory.example.org/image/${agentId}/v1.13.9/nocloud-amd64.iso`);
    expect(diskImageUrl({ ...image, platform: 'metal' })).toBe(
      `https://factory.example.org/image/${agentId}/v1.13.9/metal-amd64.raw.zst`,
    );
    expect(installerImage({ ...image, version: 'v1.13.9' })).toBe(
      `factory.example.org/nocloud-installer/${agentId}:v1.13.9`,
    );
  });

  it('keep the port of a private factory', () => {
    const own = { ...image, factoryUrl: 'http://127.0.0.1:8080' };
    expect(installerImage(own)).toBe(`127.0.0.1:8080/nocloud-installer/${agentId}:v1.13.9`);
  });
});

type Handler = (request: IncomingMessage, body: string, response: ServerResponse) => void;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function factory(handler: Handler): Promise<string> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request
      .on('data', (part) => parts.push(part))
      .on('end', () => handler(request, Buffer.concat(parts).toString(), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const json = (response: ServerResponse, content: unknown, status = 201) =>
  response.writeHead(status).end(JSON.stringify(content));
const code = (expected: string) => expect.objectContaining({ code: expected });

describe('posting a schematic', () => {
  it('is one call with the canonical text, and returns the id', async () => {
    const seen: string[] = [];
    const url = await factory((request, body, response) => {
      seen.push(`${request.method} ${request.url} ${body}`);
      json(response, { id: agentId, schematic: body });
    });
    expect(await ensureSchematic(url, agent, { signal, log: noLog })).toBe(agentId);
    expect(seen).toEqual([`POST /schematics ${formatCanonicalSchematic(agent)}`]);
  });

  it('accepts another id for the same content, and logs a warning', async () => {
    const id = 'f'.repeat(64);
    const warnings: unknown[] = [];
    const log: Log = { ...noLog, warn: (fields) => void warnings.push(fields) };
    const url = await factory((_, body, response) => json(response, { id, schematic: `owner: me\n${body}` }));
    expect(await ensureSchematic(url, agent, { signal, log })).toBe(id);
    expect(warnings).toEqual([expect.objectContaining({ expected: agentId, id })]);
  });

  it.each([
    ['another content', { id: 'f'.repeat(64), schematic: 'customization: {}\n' }],
    ['another id and no content', { id: 'f'.repeat(64) }],
    ['no id', {}],
    ['an invalid id', { id: '../../etc' }],
  ])('is rejected when the factory answers with %s', async (_, answer) => {
    const url = await factory((_request, _body, response) => json(response, answer));
    await expect(ensureSchematic(url, agent, { signal, log: noLog })).rejects.toThrow(
      code('FACTORY_SCHEMATIC_DIFFERS'),
    );
  });

  it.each([
    [400, 'FACTORY_SCHEMATIC_REFUSED'],
    [401, 'FACTORY_UNAUTHORIZED'],
    [402, 'FACTORY_UNAUTHORIZED'],
    [503, 'FACTORY_FAILED'],
  ])('explains a %i', async (status, expected) => {
    const url = await factory((_request, _body, response) => response.writeHead(status).end('unknown field foo\nmore'));
    const error = await ensureSchematic(url, agent, { signal, log: noLog }).catch((one) => one);
    expect(error).toEqual(code(expected));
    expect(error.message).toContain(`Status ${status}: unknown field foo.`);
  });

  it('detects that the server is not a factory', async () => {
    const url = await factory((_request, _body, response) => response.writeHead(200).end('<html>'));
    await expect(ensureSchematic(url, agent, { signal, log: noLog })).rejects.toThrow('talos.factoryUrl');
  });

  it("reports that nothing listens, and fails with the reason of the caller's signal", async () => {
    const url = await factory(() => {});
    const stop = new AbortController();
    const call = ensureSchematic(url, agent, { signal: stop.signal, log: noLog });
    stop.abort(new Error('shutting down'));
    await expect(call).rejects.toThrow('shutting down');
    for (const close of closers.splice(0)) close();
    await expect(ensureSchematic(url, agent, { signal, log: noLog })).rejects.toThrow(code('FACTORY_UNREACHABLE'));
  });
});

describe('an image', () => {
  const bytes = Buffer.alloc(100_000, 'talos');

  it('reports its size without a download, and is read in chunks, also over a redirect', async () => {
    const url = await factory((request, _, response) => {
      if (request.url === '/iso' && request.method === 'GET')
        return response.writeHead(302, { location: '/cdn' }).end();
      return response
        .writeHead(200, { 'content-length': bytes.length })
        .end(request.method === 'HEAD' ? undefined : bytes);
    });
    expect(await findImageSize(`${url}/iso`, { signal })).toBe(bytes.length);
    const image = await downloadImage(`${url}/iso`, { signal });
    const parts: Uint8Array[] = [];
    for await (const part of image.body) parts.push(part);
    expect(image.bytes).toBe(bytes.length);
    expect(Buffer.concat(parts).equals(bytes)).toBe(true);
  });

  it('of a schematic that was never posted does not exist', async () => {
    const url = await factory((_request, _body, response) => response.writeHead(404).end());
    await expect(findImageSize(`${url}/iso`, { signal })).rejects.toThrow(code('FACTORY_IMAGE_MISSING'));
    await expect(downloadImage(`${url}/iso`, { signal })).rejects.toThrow(code('FACTORY_IMAGE_MISSING'));
  });

  it('that breaks off is an error and not a short image', async () => {
    const url = await factory((_request, _body, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, 10_000), () => response.destroy());
    });
    const { body } = await downloadImage(url, { signal });
    const read = async () => {
      for await (const part of body) expect(part.length).toBeGreaterThan(0);
    };
    await expect(read()).rejects.toThrow(code('UNREACHABLE'));
  });
});

describe('a checksum', () => {
  const sum = 'a'.repeat(64);
  const answering = async (status: number, body: string) =>
    `${await factory((_request, _body, response) => response.writeHead(status).end(body))}/metal-amd64.raw.zst`;

  it('is the digest in the response line of the factory', async () => {
    expect(await findChecksum(await answering(200, `${sum.toUpperCase()}  metal-amd64.raw.zst\n`), { signal })).toBe(
      sum,
    );
  });

  it.each([400, 401, 402, 403, 404])('is undefined when the factory answers %i', async (status) => {
    expect(await findChecksum(await answering(status, 'enterprise not enabled'), { signal })).toBeUndefined();
  });

  it.each([
    ['fails', 500, 'oops'],
    ['is busy', 503, ''],
    ['limits the rate', 429, ''],
    ['answers with another text', 200, '<html>'],
    ['answers with a digest that is too long', 200, `${sum}0`],
  ])('fails instead of being undefined when the factory %s', async (_, status, body) => {
    await expect(findChecksum(await answering(status, body), { signal })).rejects.toThrow(code('FACTORY_FAILED'));
  });
});
