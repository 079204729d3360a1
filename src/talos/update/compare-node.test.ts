import { describe, expect, it } from 'vitest';
import { config, NodeModel, plain } from '../../../test/talos/node-model.ts';
import { desiredNode } from '../../../test/talos/update-run.ts';
import type { TalosClient } from '../client/client.ts';
import { compareNode, type FormerComparison } from './compare-node.ts';

/** A node that lists the calls that it gets. */
class ListingNode extends NodeModel {
  readonly asked: string[] = [];

  override client(): TalosClient {
    const calls = super.client() as never as Record<string, (...given: never[]) => Promise<unknown>>;
    const listed = Object.entries(calls).map(([name, call]) => [
      name,
      (...given: never[]) => {
        this.asked.push(name);
        return call(...given);
      },
    ]);
    return Object.fromEntries(listed) as TalosClient;
  }
}

const labelled = config('nodeLabels: {disk: fast}');
const desired = desiredNode({ talosVersion: '1.13.7' });
const changed = desiredNode({ talosVersion: '1.13.7', configuration: labelled });

async function compare(node: ListingNode, target = desired, former?: FormerComparison) {
  node.asked.length = 0;
  const compared = await compareNode(node.client(), target, 'worker', {}, former);
  return { compared, asked: [...node.asked], next: (isSameBoot: boolean) => ({ ...compared, isSameBoot }) };
}

describe('a comparison after another one', () => {
  it('asks only for the configuration and the boot if nothing has changed, and for the boot after a while only', async () => {
    const node = new ListingNode();
    const first = await compare(node);
    expect(first.asked).toEqual(expect.arrayContaining(['version', 'listResources']));
    expect((await compare(node, desired, first.next(false))).asked).toEqual(['findResource', 'bootId']);
    const again = await compare(node, desired, first.next(true));
    expect(again.asked).toEqual(['findResource']);
    expect(again.compared.found).toEqual(first.compared.found);
  });

  it('asks whether the node takes a new configuration, and not for its versions again', async () => {
    const node = new ListingNode();
    const first = await compare(node);
    const second = await compare(node, changed, first.next(true));
    expect(second.asked).toEqual(['findResource', 'tryConfiguration']);
    expect(second.compared.found.changes).toMatchObject([{ class: 'live' }]);
    node.active = labelled;
    const third = await compare(node, changed, second.next(true));
    expect(third.asked).toEqual(['findResource']);
    expect(third.compared.found).toMatchObject({ changes: [], running: { talosVersion: '1.13.7' } });
  });

  it('asks for everything after a restart, and after a change by others', async () => {
    const node = new ListingNode();
    const first = await compare(node);
    node.running = { version: '1.13.8', schematic: 'aaaa' };
    node.restart();
    const restarted = await compare(node, desired, first.next(false));
    expect(restarted.compared.found.running.talosVersion).toBe('1.13.8');
    expect(restarted.compared.found.changes).toMatchObject([{ field: 'talos.version' }]);
    node.active = config('kubelet: {image: other}');
    expect((await compare(node, desired, restarted.next(true))).asked).toContain('version');
  });

  it('asks again a node that has refused its configuration', async () => {
    const node = new ListingNode();
    node.rejection = 'no.';
    const refused = await compare(node, changed);
    expect(refused.compared.found.rejection).toBeDefined();
    node.rejection = undefined;
    const accepted = await compare(node, changed, refused.next(true));
    expect(accepted.compared.found.rejection).toBeUndefined();
    expect(node.active).toBe(plain);
  });
});
