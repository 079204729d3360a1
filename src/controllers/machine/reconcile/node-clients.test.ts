import { expect, it } from 'vitest';
import type { TalosClient } from '../../../talos/client/client.ts';
import { NodeClients } from './node-clients.ts';

function nodesThatRecord(): { readonly nodes: NodeClients; readonly seen: string[] } {
  const seen: string[] = [];
  const connect = (address: string): TalosClient => {
    seen.push(`open ${address}`);
    const close = async () => void seen.push(`close ${address}`);
    return { address, close } as unknown as TalosClient;
  };
  return { nodes: new NodeClients(connect), seen };
}

it('connects to each node once, although every user closes its client', async () => {
  const { nodes, seen } = nodesThatRecord();
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) await nodes.open(address).close();
  expect(seen).toEqual(['open 10.0.0.1', 'open 10.0.0.2']);
});

it('closes all of them at the end', async () => {
  const { nodes, seen } = nodesThatRecord();
  for (const address of ['10.0.0.1', '10.0.0.2', '10.0.0.1']) nodes.open(address);
  await nodes.close();
  expect(seen.slice(2)).toEqual(['close 10.0.0.1', 'close 10.0.0.2']);
});
