import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import type { NodeHardware, Schematic } from '../../engine/node.ts';
import { deadlineSignal } from '../../lib/deadline.ts';
import { type ErrorCode, ProviderError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { type HttpRequest, type HttpResponse, sendHttpRequest } from '../../lib/net/http.ts';
import { trimTrailing } from '../../lib/text.ts';
import { withoutLeadingV } from '../versions.ts';
import { formatCanonicalSchematic, isSameSchematic } from './schematic.ts';

/** Deadlines in seconds. The factory builds an image on its first request, which takes minutes. */
const timeoutSeconds = { answer: 60, build: 600, download: 3600 };

export interface FactoryCallOptions {
  /** Aborts the call, in addition to the call's own deadline. */
  readonly signal: AbortSignal;
}

/** An asset of the factory: the image of one Talos version for one boot platform. */
export interface FactoryImage {
  readonly factoryUrl: string;
  /** `nocloud` or `metal`: decides where Talos looks for its configuration. */
  readonly platform: NodeHardware['imagePlatform'];
  /** See {@link computeSchematicId}. */
  readonly schematicId: string;
  /** With or without a leading `v`. */
  readonly version: string;
}

/** The id of a schematic: 64 hexadecimal digits. Its images exist only after {@link ensureSchematic}. */
export const computeSchematicId = (schematic: Schematic): string =>
  createHash('sha256').update(formatCanonicalSchematic(schematic)).digest('hex');

/**
 * Registers a schematic with the factory and returns its id there. The same schematic has the same id, so the call may
 * be repeated. Throws FACTORY_SCHEMATIC_DIFFERS when the factory's schematic has another content.
 */
export async function ensureSchematic(
  factoryUrl: string,
  schematic: Schematic,
  options: FactoryCallOptions & { readonly log: Log },
): Promise<string> {
  const reply = await requestFactory(joinUrl(factoryUrl, 'schematics'), timeoutSeconds.answer, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml', accept: 'application/json' },
    body: formatCanonicalSchematic(schematic),
    signal: options.signal,
  });
  const text = await reply.text(1024 * 1024);
  if (reply.status !== 201 && reply.status !== 200)
    throw toFactoryError(reply.status, text, 'FACTORY_SCHEMATIC_REFUSED');
  const { id, schematic: echo } = parseSchematicReply(text);
  const expected = computeSchematicId(schematic);
  if (id === expected) return id;
  if (id === undefined || echo === undefined || !isSameSchematic(parseReturnedSchematic(echo), schematic)) {
    throw new ProviderError('FACTORY_SCHEMATIC_DIFFERS', `The id is ${id ?? 'missing'}, expected ${expected}.`);
  }
  // The content is the same: only its format differs, or a factory with accounts has added the owner.
  options.log.warn({ expected, id, factoryUrl }, 'the image factory returns another id for this schematic');
  return id;
}

/** The ISO that a virtual machine boots from, for x86-64. */
export const isoUrl = (image: FactoryImage): string => assetUrl(image, `${image.platform}-amd64.iso`);

/** The disk image that is written to a server, for x86-64. */
export const diskImageUrl = (image: FactoryImage, compression: 'zst' | 'xz' = 'zst'): string =>
  assetUrl(image, `${image.platform}-amd64.raw.${compression}`);

/**
 * The installer image that a node pulls to install or update itself. Its platform and schematic must be those of the
 * image the node booted from: they determine kernel arguments and extensions (image-factory: `docs/api.md`).
 */
export function installerImage(image: FactoryImage): string {
  const url = new URL(image.factoryUrl);
  const prefix = `${url.host}${trimTrailing(url.pathname, /\//)}`;
  return `${prefix}/${image.platform}-installer/${image.schematicId}:v${withoutLeadingV(image.version)}`;
}

/** Size of an image in bytes; undefined when the factory does not report it. The first request builds the image. */
export async function findImageSize(url: string, options: FactoryCallOptions): Promise<number | undefined> {
  const reply = await requestFactory(url, timeoutSeconds.build, {
    method: 'HEAD',
    signal: options.signal,
    redirects: 5,
  });
  await reply.discard();
  if (reply.status !== 200) throw toFactoryError(reply.status, '', 'FACTORY_IMAGE_MISSING');
  const bytes = Number(reply.headers['content-length']);
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined;
}

/** Downloads an image in chunks. Read it to the end or abort `signal`: a deadline of an hour runs until then. */
export async function downloadImage(
  url: string,
  options: FactoryCallOptions,
): Promise<{ bytes: number | undefined; body: AsyncIterable<Uint8Array> }> {
  const reply = await requestFactory(url, timeoutSeconds.download, { signal: options.signal, redirects: 5 });
  if (reply.status !== 200) throw toFactoryError(reply.status, await reply.text(64 * 1024), 'FACTORY_IMAGE_MISSING');
  const bytes = Number(reply.headers['content-length']);
  return { bytes: Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined, body: reply.body };
}

/** No boot image is larger. A larger one would fill the disks that store it. */
const maxImageBytes = 2 * 2 ** 30;

/** Throws FACTORY_IMAGE_TOO_LARGE. */
export function checkImageSize(bytes: number): void {
  if (bytes > maxImageBytes) throw new ProviderError('FACTORY_IMAGE_TOO_LARGE', `It has ${bytes} bytes.`);
}

/**
 * Statuses of a factory without checksums: 402 without a subscription, the others from a factory that does not know
 * them.
 */
const noChecksumStatuses = [400, 401, 402, 403, 404];

/**
 * The SHA-256 of an image according to the factory; undefined when the factory provides none, as without a
 * subscription. Throws on any other failure, which does not mean that there is no checksum.
 */
export async function findChecksum(url: string, options: FactoryCallOptions): Promise<string | undefined> {
  const reply = await requestFactory(`${url}.sha256`, timeoutSeconds.build, { signal: options.signal, redirects: 5 });
  if (noChecksumStatuses.includes(reply.status)) {
    await reply.discard();
    return undefined;
  }
  const text = (await reply.text(64 * 1024)).trim();
  if (reply.status !== 200) throw toFactoryError(reply.status, text, 'FACTORY_IMAGE_MISSING');
  const [, digest] = /^([0-9a-f]{64})(?![0-9a-z])/.exec(text.toLowerCase()) ?? [];
  if (digest === undefined) throw new ProviderError('FACTORY_FAILED', 'The response is not a checksum.');
  return digest;
}

const joinUrl = (factoryUrl: string, path: string): string => `${trimTrailing(factoryUrl, /\//)}/${path}`;

const assetUrl = (image: FactoryImage, asset: string): string =>
  joinUrl(image.factoryUrl, `image/${image.schematicId}/v${withoutLeadingV(image.version)}/${asset}`);

/** One HTTP exchange with a deadline that includes the body. */
async function requestFactory(url: string, seconds: number, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await sendHttpRequest(url, { ...request, signal: deadlineSignal(seconds, request.signal) });
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const known = error.code === 'UNREACHABLE' || error.code === 'DEADLINE_EXCEEDED';
    if (!known) throw error;
    const why = error.code === 'UNREACHABLE' ? error.message : 'The request timed out.';
    throw new ProviderError('FACTORY_UNREACHABLE', `${new URL(url).host}: ${why}`, { cause: error });
  }
}

/** The only place that reads status codes. `refused` is the error code of a 400 or 404 for the call. */
function toFactoryError(status: number, body: string, refused: ErrorCode): ProviderError {
  const message = body.trim().split('\n')[0]?.slice(0, 200) ?? '';
  const detail = `Status ${status}${message === '' ? '' : `: ${message}`}.`;
  if (status === 400 || status === 404) return new ProviderError(refused, detail);
  if (status === 401 || status === 402 || status === 403) return new ProviderError('FACTORY_UNAUTHORIZED', detail);
  return new ProviderError('FACTORY_FAILED', detail);
}

/** `{id, schematic}`; servers before 1.0 omit `schematic`. */
function parseSchematicReply(text: string): { id?: string; schematic?: string } {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch (error) {
    throw new ProviderError(
      'FACTORY_FAILED',
      'The response is not JSON: check that talos.factoryUrl is an image factory.',
      {
        cause: error,
      },
    );
  }
  const { id, schematic } = (typeof reply === 'object' && reply !== null ? reply : {}) as Record<string, unknown>;
  return {
    ...(typeof id === 'string' && /^[0-9a-f]{64}$/.test(id) ? { id } : {}),
    ...(typeof schematic === 'string' ? { schematic } : {}),
  };
}

function parseReturnedSchematic(text: string): unknown {
  try {
    return parse(text, { uniqueKeys: false });
  } catch (error) {
    throw new ProviderError('FACTORY_FAILED', 'The schematic in the response is not valid YAML.', { cause: error });
  }
}
