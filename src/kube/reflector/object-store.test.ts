import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { secretObject } from '../../../test/support/harness/reflector-harness.ts';
import type { Secret } from '../core-types.ts';
import { ObjectStore } from './object-store.ts';

describe('an object store', () => {
  it('keeps every index correct through any changes, and a list replaces all objects', () => {
    const item = fc.record({
      name: fc.constantFrom('a1', 'a2', 'b1', 'b2'),
      version: fc.nat(5),
      uid: fc.constantFrom('u', 'v'),
    });
    const change = fc.oneof(
      fc.record({ put: item }),
      fc.record({ drop: item }),
      fc.record({ replace: fc.uniqueArray(item, { selector: ({ name }) => name }) }),
    );
    const make = ({ name, version, uid }: { name: string; version: number; uid: string }) =>
      secretObject(name, String(version), uid);
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), (changes) => {
        const store = new ObjectStore<Secret>({ app: ({ metadata }) => [metadata.labels?.['app'] ?? ''] });
        const model = new Map<string, Secret>();
        const reported = new Map<string, Secret>();
        for (const step of changes) {
          const events =
            'put' in step
              ? store.put(make(step.put))
              : 'drop' in step
                ? store.drop({ namespace: 'n', name: step.drop.name })
                : store.replace(step.replace.map(make));
          if ('put' in step) model.set(step.put.name, make(step.put));
          else if ('drop' in step) model.delete(step.drop.name);
          else {
            model.clear();
            for (const one of step.replace) model.set(one.name, make(one));
          }
          for (const event of events) {
            const { name } = event.object.metadata;
            expect(reported.has(name)).toBe(event.kind !== 'added');
            if (event.kind === 'deleted') reported.delete(name);
            else reported.set(name, event.object);
          }
          const sorted = (objects: Iterable<Secret>) =>
            [...objects].sort((x, y) => x.metadata.name.localeCompare(y.metadata.name));
          expect(sorted(store.list())).toEqual(sorted(model.values()));
          expect(sorted(reported.values())).toEqual(sorted(model.values()));
          for (const app of ['a', 'b', 'none']) {
            const expected = [...model.values()].filter(({ metadata }) => metadata.labels?.['app'] === app);
            expect(sorted(store.by('app', app))).toEqual(sorted(expected));
          }
        }
      }),
    );
  });

  it('returns objects that its readers cannot change', () => {
    const store = new ObjectStore<Secret>();
    store.put(secretObject('a', '1'));
    const found = store.get({ namespace: 'n', name: 'a' });
    expect(() => {
      if (found) found.metadata.labels = {};
    }).toThrow(TypeError);
    expect(() => store.by('nothing', 'x')).toThrow(/no index "nothing"/);
  });
});
