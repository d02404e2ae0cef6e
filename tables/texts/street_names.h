// Streets for generated addresses, by language. The English names are among the most frequent of the United States
// Census Bureau (TIGER/Line, in the public domain); the others are compounds of everyday words, collected for this
// list.
#pragma once
#include <array>
#include <string_view>

namespace tessera {

constexpr size_t kStreetsOfALanguage = 32;
using Streets = std::array<std::string_view, kStreetsOfALanguage>;

constexpr Streets kEnglishStreets{
    "Second Street", "Third Street",   "First Street",  "Fourth Street",  "Park Avenue",       "Fifth Street",
    "Main Street",   "Sixth Street",   "Oak Street",    "Seventh Street", "Pine Street",       "Maple Avenue",
    "Cedar Lane",    "Eighth Street",  "Elm Street",    "View Road",      "Washington Avenue", "Ninth Street",
    "Lake Drive",    "Hill Road",      "Walnut Street", "Spring Street",  "North Street",      "Ridge Road",
    "Church Street", "Willow Lane",    "Mill Road",     "Sunset Drive",   "Railroad Avenue",   "Jackson Street",
    "River Road",    "Highland Avenue"};
constexpr Streets kGermanStreets{
    "Hauptstraße",  "Schulstraße",   "Gartenstraße", "Bahnhofstraße", "Dorfstraße", "Bergstraße", "Birkenweg",
    "Lindenstraße", "Kirchstraße",   "Waldstraße",   "Ringstraße",    "Amselweg",   "Wiesenweg",  "Mühlenweg",
    "Feldstraße",   "Buchenweg",     "Rosenweg",     "Wiesenstraße",  "Tannenweg",  "Talstraße",  "Jahnstraße",
    "Blumenstraße", "Brunnenstraße", "Sonnenweg",    "Eichenweg",     "Ahornweg",   "Lerchenweg", "Drosselweg",
    "Nelkenweg",    "Fliederweg",    "Finkenweg",    "Mühlstraße"};
constexpr Streets kFrenchStreets{"rue de l'Église",    "rue du Moulin",      "rue de la Mairie",  "rue du Château",
                                 "rue des Écoles",     "rue de la Gare",     "rue du Stade",      "rue des Jardins",
                                 "rue de la Fontaine", "rue des Lilas",      "rue du Lavoir",     "rue des Rosiers",
                                 "chemin des Vignes",  "rue du Puits",       "rue des Prés",      "rue de la Poste",
                                 "rue du Pont",        "allée des Tilleuls", "rue des Acacias",   "rue du Four",
                                 "place de la Mairie", "rue des Champs",     "rue de la Forge",   "rue du Bois",
                                 "rue des Fleurs",     "rue de la Croix",    "chemin du Moulin",  "rue de la Source",
                                 "rue du Marché",      "allée des Chênes",   "impasse des Lilas", "rue des Peupliers"};
constexpr Streets kSpanishStreets{
    "Calle Mayor",        "Calle Real",         "Calle Iglesia",     "Calle Nueva",          "Plaza Mayor",
    "Calle del Sol",      "Calle de la Fuente", "Calle Ancha",       "Calle del Medio",      "Calle del Río",
    "Avenida del Parque", "Calle de la Paz",    "Calle del Molino",  "Calle Alta",           "Calle Baja",
    "Calle de la Cruz",   "Calle del Horno",    "Calle del Pozo",    "Calle de las Flores",  "Calle del Prado",
    "Calle de la Luna",   "Calle del Castillo", "Paseo del Río",     "Calle de la Estación", "Calle del Puente",
    "Calle Larga",        "Calle del Olivo",    "Calle de las Eras", "Avenida del Mar",      "Calle de la Huerta",
    "Calle del Mercado",  "Camino de la Ermita"};
constexpr Streets kItalianStreets{"Via della Chiesa",    "Via del Mulino",    "Via dei Fiori",    "Via della Stazione",
                                  "Via Nuova",           "Via della Fontana", "Via del Ponte",    "Via dei Pini",
                                  "Via della Scuola",    "Via del Bosco",     "Via del Mare",     "Via delle Rose",
                                  "Via della Pace",      "Via del Sole",      "Via dei Tigli",    "Via Roma Vecchia",
                                  "Via del Castello",    "Via della Croce",   "Via dell'Olmo",    "Via delle Vigne",
                                  "Piazza della Chiesa", "Via del Campo",     "Via della Rocca",  "Via dei Gelsi",
                                  "Via della Valle",     "Via del Lago",      "Viale dei Tigli",  "Via dei Mille",
                                  "Via della Collina",   "Via del Forno",     "Via delle Scuole", "Via degli Ulivi"};
constexpr Streets kPortugueseStreets{"Rua da Igreja",     "Rua Direita",       "Rua Nova",          "Rua da Escola",
                                     "Rua do Comércio",   "Rua da Fonte",      "Rua do Moinho",     "Rua das Flores",
                                     "Rua do Sol",        "Rua da Estação",    "Rua do Rio",        "Rua da Paz",
                                     "Rua do Campo",      "Rua da Ponte",      "Rua do Castelo",    "Avenida da Praia",
                                     "Rua das Oliveiras", "Rua do Outeiro",    "Rua da Cruz",       "Rua do Mercado",
                                     "Rua da Capela",     "Rua do Forno",      "Rua das Rosas",     "Rua do Pinhal",
                                     "Rua da Serra",      "Travessa da Fonte", "Rua do Mar",        "Rua dos Pinheiros",
                                     "Rua da Quinta",     "Rua do Vale",       "Rua das Amoreiras", "Rua da Liberdade"};

}  // namespace tessera
