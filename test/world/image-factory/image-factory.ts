import { createHash } from 'node:crypto';
import { buildAsset, contentType, describeSystem, findAsset } from './assets.ts';
import { type ParsedSchematic, parseSchematic } from './schematic.ts';

/** An HTTP response. */
export interface FactoryResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** An error with the factory's own words as a plain-text body. */
export class FactoryHttpError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Data and delays of a factory. */
export interface FactorySettings {
  readonly versions: readonly string[];
  readonly extensions: readonly string[];
  readonly buildSeconds: number;
  /** Serves checksums, as a factory with a subscription does. */
  readonly checksums: boolean;
  /** Files to serve instead of built assets, by asset name. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly sleep: (seconds: number) => Promise<void>;
}

type Route = (parts: readonly string[], body: string) => FactoryResponse | Promise<FactoryResponse>;

/** The image factory without its sockets: schematics, images and installer manifests (image-factory: docs/api.md). */
export class ImageFactory {
  readonly #settings: FactorySettings;
  readonly #schematics = new Map<string, ParsedSchematic>();
  /** Images in progress or built, by path. Concurrent requests wait for the same build. */
  readonly #builds = new Map<string, Promise<Buffer>>();
  /** Configurations of installers, by digest. */
  readonly #blobs = new Map<string, Buffer>();
  readonly #routes: readonly (readonly [method: RegExp, path: RegExp, route: Route])[];

  constructor(settings: FactorySettings) {
    this.#settings = settings;
    const read = /^(GET|HEAD)$/;
    this.#routes = [
      [/^POST$/, /^\/schematics$/, (_, body) => this.#register(body)],
      [/^GET$/, /^\/schematics\/([^/]+)$/, ([id = '']) => this.#describe(id)],
      [read, /^\/image\/([^/]+)\/([^/]+)\/([^/]+)$/, (parts) => this.#image(parts)],
      [/^GET$/, /^\/versions$/, () => jsonResponse(this.#settings.versions.map((one) => `v${one}`))],
      [
        read,
        /^\/v2\/(?:([a-z]+)-)?installer(?:-secureboot)?\/([^/]+)\/manifests\/([^/]+)$/,
        (parts) => this.#manifest(parts),
      ],
      [read, /^\/v2\/.+\/blobs\/([^/]+)$/, ([name = '']) => this.#blob(name)],
    ];
  }

  /** Answers one request. Throws {@link FactoryHttpError} or InvalidSchematic for a refused request. */
  async ask(method: string, url: URL, body: string): Promise<FactoryResponse> {
    const onPath = this.#routes.filter(([, path]) => path.test(url.pathname));
    const chosen = onPath.find(([methods]) => methods.test(method));
    if (!chosen)
      throw new FactoryHttpError(
        onPath.length > 0 ? 405 : 404,
        onPath.length > 0 ? 'Method Not Allowed' : '404 page not found',
      );
    const parts = (chosen[1].exec(url.pathname) ?? []).slice(1).map((part) => decodeURIComponent(part ?? ''));
    return chosen[2](parts, body);
  }

  #register(body: string): FactoryResponse {
    const schematic = parseSchematic(body);
    this.#schematics.set(schematic.id, schematic);
    return jsonResponse({ id: schematic.id, schematic: schematic.canonical }, 201);
  }

  #describe(id: string): FactoryResponse {
    const schematic = this.#schematics.get(id);
    if (!schematic) throw new FactoryHttpError(404, 'schematic not found');
    return { status: 200, headers: { 'content-type': 'application/yaml' }, body: Buffer.from(schematic.canonical) };
  }

  async #image(parts: readonly string[]): Promise<FactoryResponse> {
    const name = parts[2] ?? '';
    const content = await this.#build(parts);
    const type = /\.sha(?:256|512)$/.test(name) ? 'text/plain; charset=utf-8' : contentType(name);
    const headers = { 'content-type': type, 'content-disposition': `attachment; filename="${name}"` };
    return { status: 200, headers, body: content };
  }

  async #build([id = '', tag = '', name = '']: readonly string[]): Promise<Buffer> {
    const [, of = '', algorithm = ''] = /^(.+)\.(sha256|sha512|sigstore\.json)$/.exec(name) ?? [];
    if (algorithm !== '') {
      if (!this.#settings.checksums || algorithm === 'sigstore.json') {
        throw new FactoryHttpError(402, 'enterprise not enabled: checksum endpoint is not available');
      }
      const sum = createHash(algorithm)
        .update(await this.#build([id, tag, of]))
        .digest('hex');
      return Buffer.from(`${sum}  ${of}\n`);
    }
    const schematic = this.#known(id);
    const version = tag.replace(/^v/, '');
    const asset = findAsset(name);
    const file = this.#settings.files.get(name);
    if (!asset && !file) {
      throw new FactoryHttpError(400, `error parsing profile from path: invalid profile path: ${JSON.stringify(name)}`);
    }
    this.#checkVersion(version);
    this.#checkExtensions(schematic, version);
    const key = `${id}/${version}/${name}`;
    const build =
      this.#builds.get(key) ??
      this.#settings.sleep(this.#settings.buildSeconds).then(() => {
        if (file) return file;
        return asset ? buildAsset(asset, schematic, version) : Buffer.alloc(0);
      });
    this.#builds.set(key, build);
    return build;
  }

  #known(id: string): ParsedSchematic {
    const schematic = this.#schematics.get(id);
    if (!schematic) throw new FactoryHttpError(404, `schematic ID "${id}" not found`);
    return schematic;
  }

  #checkVersion(version: string): void {
    if (!this.#settings.versions.includes(version))
      throw new FactoryHttpError(404, `version ${version} is not available`);
  }

  /** A schematic with an unknown extension is accepted; only an image with it cannot be built. */
  #checkExtensions(schematic: ParsedSchematic, version: string): void {
    const unknown = schematic.extensions.find((name) => !this.#settings.extensions.includes(name));
    if (unknown === undefined) return;
    const message = `official extension ${JSON.stringify(unknown)} is not available for Talos version v${version}`;
    throw new FactoryHttpError(400, `error enhancing profile from schematic: ${message}`);
  }

  /**
   * The registry, as far as a node asks it before it pulls its installer. The configuration of the image says which
   * system it installs; its layer has a size and no content.
   */
  #manifest([platform = '', id = '', tag = '']: readonly string[]): FactoryResponse {
    const schematic = this.#known(id);
    const version = tag.replace(/^v/, '');
    this.#checkVersion(version);
    this.#checkExtensions(schematic, version);
    const asset = { kind: 'installer', platform: platform || 'metal', arch: 'amd64' } as const;
    const talos = describeSystem(asset, schematic, version);
    const config = Buffer.from(JSON.stringify({ architecture: 'amd64', os: 'linux', talos }));
    this.#blobs.set(digest(config), config);
    const oci = 'application/vnd.oci.image';
    const mediaType = `${oci}.manifest.v1+json`;
    const body = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType,
        config: { mediaType: `${oci}.config.v1+json`, digest: digest(config), size: config.length },
        layers: [{ mediaType: `${oci}.layer.v1.tar+gzip`, digest: digest(Buffer.from(tag + id)), size: 120_000_000 }],
      }),
    );
    return { status: 200, headers: { 'content-type': mediaType, 'docker-content-digest': digest(body) }, body };
  }

  #blob(name: string): FactoryResponse {
    const body = this.#blobs.get(name);
    if (!body) throw new FactoryHttpError(404, 'blob unknown to registry');
    return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body };
  }
}

const digest = (content: Buffer) => `sha256:${createHash('sha256').update(content).digest('hex')}`;

const jsonResponse = (value: unknown, status = 200): FactoryResponse => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(`${JSON.stringify(value)}\n`),
});
