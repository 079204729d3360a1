import type { Schematic } from '../../engine/node.ts';
import { LruMap } from '../../lib/lru-map.ts';
import { computeSchematicId } from '../../talos/image-factory/client.ts';
import type { Services } from '../shared/services.ts';

/** More schematics than one provider has in use. */
const maxSchematics = 1000;

/** The ids that image factories have given to schematics. A configuration is rendered often, a schematic never changes. */
export class SchematicIds {
  readonly #known = new LruMap<string, string>(maxSchematics);

  /** The known id, or that of `register`, which may throw. */
  async get(
    { factoryUrl, extensions, kernelArguments }: Schematic & { readonly factoryUrl: string },
    register: () => Promise<string>,
  ): Promise<string> {
    const key = `${factoryUrl} ${computeSchematicId({ extensions, kernelArguments })}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const id = await register();
    this.#known.set(key, id);
    return id;
  }

  close(): void {}
}

export const schematicIdsOf = ({ connections }: Pick<Services, 'connections'>): SchematicIds =>
  connections.get('schematic-ids', () => new SchematicIds());
