import { OidcUser } from './seed.ts';

/** Who can log in, and who sits before the browser at the moment. */
export class OidcUsers {
  readonly #known = new Map<string, OidcUser>();
  #present: OidcUser | undefined;

  constructor(people: readonly OidcUser[]) {
    for (const person of people) this.#known.set(person.subject, person);
    this.#present = people[0];
  }

  /** From now on this one logs in. Known already, they are changed. */
  arrive(given: unknown): void {
    const person = OidcUser.parse(given);
    this.#known.set(person.subject, person);
    this.#present = person;
  }

  /** Nobody logs in any more. */
  leave(): void {
    this.#present = undefined;
  }

  get present(): OidcUser | undefined {
    return this.#present;
  }

  findByPassword(name: string, password: string): OidcUser | undefined {
    const person = this.#known.get(name);
    return person?.password !== undefined && person.password === password ? person : undefined;
  }
}
