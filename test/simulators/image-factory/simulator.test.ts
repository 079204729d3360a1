import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { decodeZstd } from '../../world/compression/zstd/decode.ts';
import { readGpt } from '../../world/disk-format/gpt.ts';
import { makeSparse, readAt, writeAt } from '../../world/disk-format/sparse-file.ts';
import { CallInterceptor } from '../../world/faults/call-interceptor.ts';
import { type ImageFactorySimulator, startImageFactory } from '../../world/image-factory/index.ts';
import { ScaledClock } from '../../world/scaled-clock.ts';
import { readPartition } from '../../world/talos/boot/disk-partitions.ts';
import { readIsoDisc } from '../../world/talos/boot/iso9660.ts';

async function* asStream(bytes: Buffer) {
  yield bytes;
}

const switchboard = new CallInterceptor();
let folder: string;
let simulator: ImageFactorySimulator;

async function start(options: { seed?: unknown; file?: string; scale?: number } = {}): Promise<ImageFactorySimulator> {
  return startImageFactory({
    host: '127.0.0.1',
    port: 0,
    folder,
    seed: options.seed,
    clock: new ScaledClock(options.scale ?? 0.0001),
    switchboard,
    runner: { start: () => expect.unreachable() },
    extra: options.file ? { file: options.file } : {},
  });
}

async function requestPath(path: string, method: 'GET' | 'HEAD' | 'POST' = 'GET', body?: string) {
  const answer = await request(`${simulator.line.url}${path}`, { method, ...(body === undefined ? {} : { body }) });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString() };
}

const register = async (text: string) => JSON.parse((await requestPath('/schematics', 'POST', text)).text).id as string;
const empty = '376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'world-factory-'));
  switchboard.clear();
  simulator = await start();
});
afterEach(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

describe('schematics', () => {
  test.each([
    ['customization: {}', empty],
    ['{}', empty],
    [
      'customization:\n  extraKernelArgs: [noapic, nolapic]',
      '9cba8e32753f91a16c1837ab8abf356af021706ef284aef07380780177d9a06c',
    ],
    [
      'customization: {extraKernelArgs: ["vga=791"]}',
      'eea1f9534c46d95c4715a2f13d17eacb927c13a42ef087c79b22c3bd0c49d073',
    ],
    [
      '{"customization":{"systemExtensions":{"officialExtensions":["siderolabs/qemu-guest-agent"]}}}',
      'ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515',
    ],
    [
      'customization:\n  systemExtensions:\n    officialExtensions:\n      - siderolabs/qemu-guest-agent\n      - siderolabs/iscsi-tools\n',
      '6ebbfe35c8225645c05d4d19eaad385bd1ec795954932d0ada671388272fec19',
    ],
  ])('the id of %j is that of the public factory', async (text, id) => {
    const answer = await requestPath('/schematics', 'POST', text);
    expect(answer.status).toBe(201);
    expect(JSON.parse(answer.text).id).toBe(id);
  });

  test.each([
    ['customisation: {}', 'field customisation not found'],
    ['customization: {extensions: []}', 'field extensions not found in type schematic.Customization'],
    ['customization: {extraKernelArgs: text}', 'cannot unmarshal'],
    ['owner: somebody', 'Enterprise'],
    ['a: [', 'yaml'],
    ['', 'EOF'],
  ])('%j is refused with a sentence', async (text, words) => {
    const answer = await requestPath('/schematics', 'POST', text);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(words);
  });

  test('a posted schematic can be read back in canonical form, and no other', async () => {
    const id = await register('{"customization":{"extraKernelArgs":["a=1"]}}');
    expect((await requestPath(`/schematics/${id}`)).text).toBe('customization:\n    extraKernelArgs:\n        - a=1\n');
    const unknown = await requestPath(`/schematics/${empty}`);
    expect([unknown.status, unknown.text]).toEqual([404, 'schematic not found\n']);
  });
});

describe('images', () => {
  test('a computed id is not registered: 404 until the schematic is posted', async () => {
    for (const path of [
      `/image/${empty}/v1.13.9/nocloud-amd64.iso`,
      `/v2/nocloud-installer/${empty}/manifests/v1.13.9`,
    ]) {
      const refused = await requestPath(path);
      expect([refused.status, refused.text]).toEqual([404, `schematic ID "${empty}" not found\n`]);
    }
    await register('{}');
    expect((await requestPath(`/image/${empty}/v1.13.9/nocloud-amd64.iso`)).status).toBe(200);
  });

  test('HEAD reports the length of GET, and the bytes are always the same', async () => {
    const id = await register('customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}');
    const path = `/image/${id}/v1.13.9/nocloud-amd64.iso`;
    const head = await requestPath(path, 'HEAD');
    const first = await requestPath(path);
    expect(head.bytes.length).toBe(0);
    expect(Number(head.headers['content-length'])).toBe(first.bytes.length);
    expect(first.bytes.length).toBeGreaterThan(2 * 1024 * 1024);
    expect(first.headers['content-disposition']).toBe('attachment; filename="nocloud-amd64.iso"');
    await simulator.restart();
    expect((await requestPath(path)).bytes.equals(first.bytes)).toBe(true);
  });

  test('the ISO names what boots from it', async () => {
    const id = await register(
      'customization: {extraKernelArgs: [-console, a=1], systemExtensions: {officialExtensions: [siderolabs/iscsi-tools]}}',
    );
    const path = join(folder, 'talos.iso');
    await writeFile(path, (await requestPath(`/image/${id}/1.13.9/nocloud-amd64.iso`)).bytes);
    const disc = readIsoDisc(path);
    expect(disc?.label).toBe('TALOS_V1_13_9');
    const world = JSON.parse(disc?.files.get('world.json')?.toString() ?? '');
    expect(world).toMatchObject({ platform: 'nocloud', arch: 'amd64', version: '1.13.9', schematic: id });
    expect(world.extensions).toEqual(['siderolabs/iscsi-tools']);
    expect(world.kernelArguments).toContain('talos.platform=nocloud');
    expect(world.kernelArguments).toContain('talos.halt_if_installed=1');
    expect(world.kernelArguments.at(-1)).toBe('a=1');
    expect(world.kernelArguments.join(' ')).not.toContain('console=tty');
  });

  test('a raw image has partitions, loaders for both kinds of firmware and META, but no configuration', async () => {
    const id = await register('customization: {systemExtensions: {officialExtensions: [siderolabs/iscsi-tools]}}');
    const answer = await requestPath(`/image/${id}/v1.13.9/metal-amd64.raw.zst`);
    expect(answer.headers['content-type']).toBe('application/zstd');
    const image: Buffer[] = [];
    for await (const chunk of decodeZstd(asStream(answer.bytes))) image.push(chunk);
    const path = join(folder, 'disk.raw');
    makeSparse(path, 64 * 2 ** 20);
    writeAt(path, 0, Buffer.concat(image));
    const table = readGpt((offset, length) => readAt(path, offset, length), 64 * 2 ** 20, 512);
    expect(table?.partitions.map(({ name }) => name)).toEqual(['EFI', 'BIOS', 'BOOT', 'META']);
    expect(readPartition(path, 'BOOT')).toMatchObject({
      ...{
        platform: 'metal',
        version: '1.13.9',
        schematic: id,
        extensions: ['siderolabs/iscsi-tools'],
        firmware: 'any',
      },
    });
    expect(readPartition(path, 'META')).toEqual({ tags: {} });
    expect(readPartition(path, 'STATE')).toBeUndefined();
  });

  test.each([
    ['/v1.13.9/metal-amd64.raw.gz', 400, 'invalid profile path'],
    ['/v9.9.9/nocloud-amd64.iso', 404, 'version 9.9.9 is not available'],
    ['/v1.13.9/nothing.iso', 400, 'invalid profile path'],
    ['/v1.13.9/nocloud-amd64.iso.sha256', 402, 'enterprise'],
  ])('%s answers %i', async (path, status, words) => {
    await register('{}');
    const answer = await requestPath(`/image/${empty}${path}`);
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(words);
  });

  test('an unknown extension is only reported when an image is built', async () => {
    const id = await register('customization: {systemExtensions: {officialExtensions: [siderolabs/nonsense]}}');
    const answer = await requestPath(`/image/${id}/v1.13.9/nocloud-amd64.iso`);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(
      'official extension "siderolabs/nonsense" is not available for Talos version v1.13.9',
    );
  });

  test('the first request builds, and concurrent requests wait for the same build', async () => {
    await simulator.close();
    const waits: number[] = [];
    const clock = new ScaledClock(0);
    clock.sleep = async (seconds) => void waits.push(seconds);
    simulator = await startImageFactory({
      ...{ host: '127.0.0.1', port: 0, folder, clock, switchboard, extra: {} },
      runner: { start: () => expect.unreachable() },
    });
    await register('{}');
    const path = `/image/${empty}/v1.13.9/nocloud-amd64.iso`;
    await Promise.all([requestPath(path), requestPath(path)]);
    await requestPath(path);
    expect(waits).toEqual([20]);
  });

  test('--file serves a given file for an asset, also for one that is not built here', async () => {
    await simulator.close();
    const path = join(folder, 'given');
    await writeFile(path, 'my own bytes');
    simulator = await start({ file: `nocloud-amd64.raw.zst=${path}` });
    await register('{}');
    expect((await requestPath(`/image/${empty}/v1.13.9/nocloud-amd64.raw.zst`)).text).toBe('my own bytes');
  });
});

describe('other requests', () => {
  test('versions', async () => {
    expect(JSON.parse((await requestPath('/versions')).text)).toContain('v1.13.9');
  });

  test('a node gets the manifest of a registered installer, and no other', async () => {
    await register('{}');
    const manifest = await requestPath(`/v2/nocloud-installer/${empty}/manifests/v1.13.9`);
    expect(manifest.status).toBe(200);
    expect(JSON.parse(manifest.text).schemaVersion).toBe(2);
    expect(manifest.headers['docker-content-digest']).toMatch(/^sha256:/);
    expect((await requestPath(`/v2/nocloud-installer/${empty}/manifests/v9.9.9`)).status).toBe(404);
    expect((await requestPath(`/v2/metal-installer/${'0'.repeat(64)}/manifests/v1.13.9`)).status).toBe(404);
  });
});
