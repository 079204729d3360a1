import { describe, expect, it } from 'vitest';
import { NodeRow } from '../core-types.ts';
import type { KubeObject } from '../resource.ts';
import { type Table, TableReader } from './table.ts';
import type { WatchEvent } from './watch-event.ts';

const columnDefinitions = [{ name: 'Name' }, { name: 'Status' }, { name: 'Age' }];
const table = (resourceVersion: string, rows: unknown[][], columns?: Table['columnDefinitions']): Table => ({
  metadata: { resourceVersion },
  columnDefinitions: columns ?? null,
  rows: rows.map((cells) => ({ cells })),
});
const event = (type: WatchEvent<KubeObject>['type'], object: Table) => ({
  type,
  object: object as unknown as KubeObject,
});
const readerOf = () => new TableReader(NodeRow, NodeRow.fromRow ?? (() => ({})));
const node = (name: string, status: string, resourceVersion: string) => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name, resourceVersion }, status },
});

describe('table rows', () => {
  it('become objects, each with the resource version of the table', () => {
    const rows = [
      ['one', 'Ready', '5d'],
      ['two', 'NotReady,SchedulingDisabled', '5d'],
    ];
    expect(readerOf().objects(table('7', rows, columnDefinitions))).toEqual([
      node('one', 'Ready', '7'),
      node('two', 'NotReady,SchedulingDisabled', '7'),
    ]);
    expect(readerOf().objects({ ...table('8', []), rows: null })).toEqual([]);
  });

  it('are read by the column names of the first watch event, in any order of columns', () => {
    const read = readerOf();
    const turned = [{ name: 'Status' }, { name: 'Name' }];
    const first = read.event(event('ADDED', table('1', [['Ready', 'one']], turned)));
    expect(first).toEqual({ type: 'ADDED', object: node('one', 'Ready', '1') });
    const second = read.event(event('MODIFIED', table('2', [['NotReady', 'one']])));
    expect(second).toEqual({ type: 'MODIFIED', object: node('one', 'NotReady', '2') });
  });

  it('are never guessed: the error names the missing column', () => {
    expect(() => readerOf().objects(table('1', [['one', 'Ready']]))).toThrow('the table of nodes has no column "Name"');
    const nameOnly = table('1', [['one']], [{ name: 'Name' }]);
    expect(() => readerOf().objects(nameOnly)).toThrow('the table of nodes has no column "Status"');
    expect(() => readerOf().event(event('MODIFIED', table('1', [])))).toThrow('the table of nodes has no row');
  });

  it('may be empty in an event that carries only a resource version', () => {
    const { type, object } = readerOf().event(event('BOOKMARK', table('9', [])));
    expect([type, object.metadata.resourceVersion]).toEqual(['BOOKMARK', '9']);
  });
});
