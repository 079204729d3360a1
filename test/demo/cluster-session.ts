import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { parseAllDocuments } from 'yaml';
import { KubeClient } from '../../src/kube/client/client.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import { type ApiServerConnection, loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { SecretString } from '../../src/lib/secret-string.ts';
import { formatTable, type PrintedTable } from './output/format-table.ts';

/** A user with a kubeconfig at an API server. */
export class ClusterSession {
  readonly client: KubeClient;
  readonly #connection: ApiServerConnection;
  #agent: Agent | undefined;

  constructor(kubeconfig: string) {
    this.#connection = loadApiServerConnection({ text: new SecretString(kubeconfig) });
    this.client = new KubeClient(new Transport(this.#connection), { fieldManager: 'demo' });
  }

  static async fromFile(path: string): Promise<ClusterSession> {
    return new ClusterSession(await readFile(path, 'utf8'));
  }

  /** The output of `kubectl get` for a path like `/apis/GROUP/VERSION/machines`. */
  async table(path: string): Promise<string> {
    const { tls, headers } = await this.#connection.credentials();
    this.#agent ??= new Agent({ connect: { ...tls } });
    const reply = await request(`${this.#connection.server}${path}`, {
      dispatcher: this.#agent,
      headers: { ...headers, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
      signal: AbortSignal.timeout(10_000),
    });
    return formatTable((await reply.body.json()) as PrintedTable);
  }

  /** Applies objects in order, like `kubectl apply --server-side`. */
  async apply(objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.client.apply(await this.#typeOf(object), object, { force: true });
  }

  async #typeOf({ apiVersion, kind }: KubeObject): Promise<ResourceType> {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const path = group ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const { resources } = await this.client.raw<{ resources: { name: string; kind: string; namespaced: boolean }[] }>(
      'GET',
      path,
    );
    const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'));
    if (!found) throw new Error(`The API server does not know the kind ${kind} of ${apiVersion}.`);
    return { group: group ?? '', version: version ?? '', kind, plural: found.name, namespaced: found.namespaced };
  }

  async close(): Promise<void> {
    await Promise.all([this.client.close(), this.#agent?.close()]);
  }
}

/** The objects of a file with any number of YAML documents. */
export async function readYamlObjects(path: string): Promise<KubeObject[]> {
  const documents = parseAllDocuments(await readFile(path, 'utf8'));
  const broken = documents.flatMap((document) => document.errors)[0];
  if (broken) throw new Error(`${path} is not valid YAML: ${broken.message}`);
  return documents.map((document) => document.toJS() as KubeObject | null).filter((object) => object !== null);
}
