import { isRecord } from '../config-document.ts';

const deletedElement = Symbol('an element that was deleted');

/** A list that a patch changes, with an index that finds an element without a search through the list. */
export class PatchedList {
  readonly #parts: unknown[];
  /** The positions of elements by the value of a scalar key, in order. Built with the first deletion. */
  #positions: Map<string, number[]> | undefined;

  constructor(parts: readonly unknown[]) {
    this.#parts = [...parts];
  }

  /** The elements, with a placeholder in the position of each deleted one. */
  get parts(): readonly unknown[] {
    return this.#parts;
  }

  push(element: unknown): void {
    this.#parts.push(element);
    if (this.#positions) this.#note(this.#positions, element, this.#parts.length - 1);
  }

  replace(index: number, element: unknown): void {
    this.#parts[index] = element;
    // The index of the new element may differ. Lists that are merged by key are short.
    this.#positions = undefined;
  }

  /** Deletes the first element with the value under the key. Returns false when there is none. */
  drop(key: string, value: string): boolean {
    this.#positions ??= this.#index();
    const places = this.#positions.get(indexKey(key, value)) ?? [];
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
