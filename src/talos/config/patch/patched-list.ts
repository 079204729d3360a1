import { isRecord } from '../config-document.ts';

const deletedElement = Symbol('an element that was deleted');

/** A list that a patch changes. Elements are found by what is in them in the time of one look at the whole list. */
export class PatchedList {
  readonly #parts: unknown[];
  /** Where elements are that have a scalar under a key, the first one first; made when the first one is deleted. */
  #places: Map<string, number[]> | undefined;

  constructor(parts: readonly unknown[]) {
    this.#parts = [...parts];
  }

  /** With what is no element any more in the place of those that were deleted. */
  get parts(): readonly unknown[] {
    return this.#parts;
  }

  push(element: unknown): void {
    this.#parts.push(element);
    if (this.#places) this.#note(this.#places, element, this.#parts.length - 1);
  }

  replace(index: number, element: unknown): void {
    this.#parts[index] = element;
    // It may be found by something else now. Lists that are merged by key are short.
    this.#places = undefined;
  }

  /** Deletes the first element that has the value under the key. False: there is none. */
  drop(key: string, value: string): boolean {
    this.#places ??= this.#index();
    const places = this.#places.get(indexKey(key, value)) ?? [];
    const at = places.findIndex((index) => this.#parts[index] !== deletedElement);
    const index = places[at];
    if (index === undefined) return false;
    places.splice(0, at + 1);
    this.#parts[index] = deletedElement;
    return true;
  }

  whole(): unknown[] {
    return this.#parts.filter((one) => one !== deletedElement);
  }

  #index(): Map<string, number[]> {
    const places = new Map<string, number[]>();
    for (const [index, element] of this.#parts.entries()) this.#note(places, element, index);
    return places;
  }

  #note(places: Map<string, number[]>, element: unknown, index: number): void {
    if (!isRecord(element)) return;
    for (const [key, value] of Object.entries(element)) {
      if (typeof value === 'object') continue;
      const place = indexKey(key, String(value));
      const known = places.get(place);
      if (known) known.push(index);
      else places.set(place, [index]);
    }
  }
}

const indexKey = (key: string, value: string): string => `${key}\0${value}`;
