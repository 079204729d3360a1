import { OidcUser } from './seed.ts';

/** The current user of the browser. */
export class OidcUsers {
  #present: OidcUser | undefined;

  constructor([first]: readonly OidcUser[]) {
    this.#present = first;
  }

  /** Sets the current user. */
  arrive(given: unknown): void {
    this.#present = OidcUser.parse(given);
  }

  /** Removes the current user. */
  leave(): void {
    this.#present = undefined;
  }

  get present(): OidcUser | undefined {
    return this.#present;
  }
}
